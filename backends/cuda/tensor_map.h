// Tensor maps for TMA.
#pragma once

#include "runtime/device.h"

namespace kiln::cuda {

// cuTensorMapEncodeTiled or cuTensorMapEncodeIm2col; `out` has 128 bytes, aligned to 64. Lists of the wrong length and what the driver
// refuses are errors that show the map.
Status encode_tensor_map(const runtime::TensorMap& map, void* out);

}  // namespace kiln::cuda
