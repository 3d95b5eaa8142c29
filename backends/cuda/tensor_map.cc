#include "backends/cuda/tensor_map.h"

#include <tvm/ffi/c_api.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

#include "backends/cuda/driver.h"
#include "runtime/raise.h"

#define XXH_INLINE_ALL  // header-only: the SDK for plug-ins has no library to link
#include <xxhash.h>

namespace kiln::cuda {

namespace {

using runtime::kTensorMapBytes;
using runtime::TensorMap;

constexpr size_t kMaxRank = 5;

// The fields in one piece of memory without padding, so that it is a key by its bytes; what a mode or rank does not use is zero.
struct Fields {
  int64_t im2col = 0, dtype = 0, rank = 0;
  void* base = nullptr;
  uint64_t dims[kMaxRank] = {}, strides[kMaxRank] = {};
  uint32_t box[kMaxRank + 1] = {}, element_strides[kMaxRank + 1] = {};
  int32_t lower[4] = {}, upper[4] = {};
  int64_t pixels = 0, channels = 0, interleave = 0, swizzle = 0, l2_promotion = 0, oob_fill = 0;
};
static_assert(std::has_unique_object_representations_v<Fields>);

template <class T>
std::string text(const T* list, int64_t n) {
  std::string out = "[";
  for (int64_t i = 0; i < n; ++i) out += (i ? ", " : "") + std::to_string(list[i]);
  return out + "]";
}

std::string describe(const Fields& m) {
  std::string out = "dims " + text(m.dims, m.rank) + ", strides " + text(m.strides, m.rank - 1) + " bytes, ";
  out += m.im2col ? "corners " + text(m.lower, m.rank - 2) + " to " + text(m.upper, m.rank - 2) : "box " + text(m.box, m.rank);
  return out + ", element strides " + text(m.element_strides, m.rank) + ", swizzle " + std::to_string(m.swizzle);
}

int encode(const Driver& d, const Fields& m, void* out) {
  auto rank = static_cast<uint32_t>(m.rank);
  int dtype = static_cast<int>(m.dtype), interleave = static_cast<int>(m.interleave), swizzle = static_cast<int>(m.swizzle),
      l2 = static_cast<int>(m.l2_promotion), fill = static_cast<int>(m.oob_fill);
  if (!m.im2col) {
    return d.encode_tiled(out, dtype, rank, m.base, m.dims, m.strides, m.box, m.element_strides, interleave, swizzle, l2, fill);
  }
  return d.encode_im2col(out, dtype, rank, m.base, m.dims, m.strides, m.lower, m.upper, static_cast<uint32_t>(m.channels),
                         static_cast<uint32_t>(m.pixels), m.element_strides, interleave, swizzle, l2, fill);
}

// The maps that this thread made last, each at the place that its hash gives: bounded, and without a lock. What the driver encodes depends
// on the fields alone, so nothing has to be dropped when memory is freed.
struct Entry {
  Fields fields;
  alignas(64) char bytes[kTensorMapBytes];
};
constexpr size_t kEntries = 64;
Entry& entry_for(const Fields& m) {
  thread_local const auto entries = std::make_unique<Entry[]>(kEntries);  // rank 0 is no map
  return entries[XXH3_64bits(&m, sizeof m) % kEntries];
}

Status encode_cached(int device, const Fields& m, void* out) {
  Entry& known = entry_for(m);
  if (std::memcmp(&known.fields, &m, sizeof m) != 0) {
    const Result<Driver>& found = driver();
    if (!found) return found.error();
    const Driver& d = *found;
    if (!d.encode_tiled || !d.encode_im2col) {
      return Error{Code::kUnsupported, "this CUDA driver makes no tensor maps", d.path, "drivers of CUDA 12.0 and newer do"};
    }
    Handle context = nullptr;
    if (device >= 0 || d.current_context(&context) != 0 || !context) {  // the driver encodes only where one is current
      Result<const Gpu*> g = gpu(std::max(device, 0));
      if (!g) return g.error();
      context = (*g)->context;
    }
    CurrentContext current(d, context);
    alignas(64) char bytes[kTensorMapBytes];
    if (int r = encode(d, m, bytes)) return failed(d, r, "encoding a tensor map of " + describe(m));
    known.fields = m;
    std::memcpy(known.bytes, bytes, sizeof bytes);
  }
  std::memcpy(out, known.bytes, kTensorMapBytes);
  return Ok{};
}

// Copies a list of `n` numbers; false when it has another length.
template <class T>
bool copy(const std::vector<int64_t>& from, int64_t n, T* to) {
  if (static_cast<int64_t>(from.size()) != n) return false;
  std::transform(from.begin(), from.end(), to, [](int64_t v) { return static_cast<T>(v); });
  return true;
}

// ---- as tvm-ffi functions ------------------------------------------------------------------------------------------

// Reads arguments in their order; the first fault stays.
class Arguments {
 public:
  Arguments(const TVMFFIAny* args, int32_t count) : args_(args), count_(count) {}
  std::string fault;

  void* pointer(const char* what) {
    const TVMFFIAny* a = next(what);
    if (!a) return nullptr;
    if (a->type_index == kTVMFFIOpaquePtr && a->v_ptr) return a->v_ptr;
    return wrong(what, "a pointer that is not null"), nullptr;
  }
  int64_t integer(const char* what) {
    const TVMFFIAny* a = next(what);
    if (!a) return 0;
    if (a->type_index == kTVMFFIInt || a->type_index == kTVMFFIBool) return a->v_int64;
    return wrong(what, "an integer"), 0;
  }
  template <class T>
  void integers(const char* what, int64_t n, T* to) {
    for (int64_t i = 0; i < n; ++i) to[i] = static_cast<T>(integer(what));
  }
  void end() {
    if (fault.empty() && at_ != count_) {
      fault = "expected " + std::to_string(at_) + " arguments for a tensor map of that rank, got " + std::to_string(count_);
    }
  }

 private:
  const TVMFFIAny* next(const char* what) {
    if (fault.empty() && at_ >= count_) fault = "expected more arguments, " + std::string(what) + " next, got " + std::to_string(count_);
    return fault.empty() ? &args_[at_++] : nullptr;
  }
  void wrong(const char* what, const char* expected) {
    fault = "expected " + std::string(expected) + " for " + what + " (argument " + std::to_string(at_ - 1) + ")";
  }
  const TVMFFIAny* args_;
  int32_t count_, at_ = 0;
};

// The innermost stride, which the caller gives and the driver does not take, is dropped.
int create(bool im2col, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) {
  Arguments a(args, count);
  Fields m;
  m.im2col = im2col;
  void* out = a.pointer("the map");
  m.dtype = a.integer("the dtype");
  m.rank = a.integer("the rank");
  m.base = a.pointer("the tensor");
  int64_t least = im2col ? 3 : 1;
  if (a.fault.empty() && (m.rank < least || m.rank > static_cast<int64_t>(kMaxRank))) {
    a.fault = "expected a rank of " + std::to_string(least) + " to 5, got " + std::to_string(m.rank);
  }
  if (a.fault.empty()) {
    uint64_t strides[kMaxRank] = {};
    a.integers("a dimension", m.rank, m.dims);
    a.integers("a stride", m.rank, strides);
    std::copy(strides + 1, strides + m.rank, m.strides);
    if (!im2col) a.integers("a box dimension", m.rank, m.box);
    a.integers("an element stride", m.rank, m.element_strides);
    if (im2col) {
      a.integers("a lower corner", m.rank - 2, m.lower);
      a.integers("an upper corner", m.rank - 2, m.upper);
      m.pixels = a.integer("the pixels");
      m.channels = a.integer("the channels");
    }
    m.interleave = a.integer("the interleave");
    m.swizzle = a.integer("the swizzle");
    m.l2_promotion = a.integer("the level 2 promotion");
    m.oob_fill = a.integer("the fill");
    a.end();
  }
  if (!a.fault.empty()) return runtime::raise("ValueError", "tensor map: " + a.fault);
  if (Status s = encode_cached(-1, m, out); !s) return runtime::raise("RuntimeError", s.error().to_string());
  *result = TVMFFIAny{};
  result->type_index = kTVMFFINone;
  return 0;
}
int create_tiled(void*, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) { return create(false, args, count, result); }
int create_im2col(void*, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) { return create(true, args, count, result); }

void register_where_free(std::string_view name, TVMFFISafeCallType function) {
  TVMFFIByteArray key{name.data(), name.size()};
  TVMFFIObjectHandle taken = nullptr, made = nullptr;
  if (TVMFFIFunctionGetGlobal(&key, &taken) == 0 && taken) {
    TVMFFIObjectDecRef(taken);
    return;
  }
  if (TVMFFIFunctionCreate(nullptr, function, nullptr, &made) != 0) return;
  if (TVMFFIFunctionSetGlobal(&key, made, 0) != 0) {  // another thread was first
    TVMFFIObjectHandle error = nullptr;
    TVMFFIErrorMoveFromRaised(&error);
    if (error) TVMFFIObjectDecRef(error);
  }
  TVMFFIObjectDecRef(made);
}

}  // namespace

Status encode_tensor_map(int device, const TensorMap& m, void* out) {
  Fields f;
  f.im2col = m.im2col, f.dtype = m.dtype, f.base = m.base, f.rank = static_cast<int64_t>(m.dims.size());
  f.pixels = m.pixels, f.channels = m.channels, f.interleave = m.interleave, f.swizzle = m.swizzle;
  f.l2_promotion = m.l2_promotion, f.oob_fill = m.oob_fill;
  bool fits = f.rank >= (m.im2col ? 3 : 1) && f.rank <= static_cast<int64_t>(kMaxRank) && copy(m.dims, f.rank, f.dims) &&
              copy(m.strides, f.rank - 1, f.strides) && copy(m.element_strides, f.rank, f.element_strides);
  if (m.im2col) {
    fits = fits && copy(m.lower, f.rank - 2, f.lower) && copy(m.upper, f.rank - 2, f.upper);
  } else {
    fits = fits && copy(m.box, f.rank, f.box);
  }
  if (fits) return encode_cached(device, f, out);
  auto list = [](const std::vector<int64_t>& v) { return text(v.data(), static_cast<int64_t>(v.size())); };
  return Error{Code::kInvalidArgument,
               "expected lists of one rank for a tensor map, got dims " + list(m.dims) + ", strides " + list(m.strides) + ", " +
                   (m.im2col ? "corners " + list(m.lower) + " to " + list(m.upper) : "box " + list(m.box)) + ", element strides " +
                   list(m.element_strides),
               "", ""};
}

void register_tensor_map_functions() {
  for (const char* prefix : {"__tvm_", "kiln."}) {
    register_where_free(std::string(prefix) + "tensormap_create_tiled", create_tiled);
    register_where_free(std::string(prefix) + "tensormap_create_im2col", create_im2col);
  }
}

}  // namespace kiln::cuda
