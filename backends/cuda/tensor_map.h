// Tensor maps for TMA.
#pragma once

#include "runtime/device.h"

namespace kiln::cuda {

// cuTensorMapEncodeTiled or cuTensorMapEncodeIm2col; `out` has 128 bytes, aligned to 64. `device` is that whose context is made current for
// the driver; -1: whichever is, else the first. Each thread remembers the maps that it made last, so that one is encoded again only when
// the pointer or another field changed. Lists of the wrong length and what the driver refuses are errors that show the map.
Status encode_tensor_map(int device, const runtime::TensorMap& map, void* out);

// Registers, for host code in other languages, the functions by which TVM's host code makes tensor maps: __tvm_tensormap_create_tiled and
// __tvm_tensormap_create_im2col, where those names are free, and kiln.tensormap_create_tiled and kiln.tensormap_create_im2col. Their
// arguments (docs/ffi.md) are a pointer to the 128 bytes and the fields. May be called more than once.
void register_tensor_map_functions();

}  // namespace kiln::cuda
