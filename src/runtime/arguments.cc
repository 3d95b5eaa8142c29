#include "runtime/arguments.h"

#include <dlpack/dlpack.h>
#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/small_float.h"

namespace kiln::runtime {

namespace {

std::string_view type_name(const TVMFFIAny& a) {
  switch (a.type_index) {
    case kTVMFFINone: return "none";
    case kTVMFFIInt: return "an integer";
    case kTVMFFIBool: return "a bool";
    case kTVMFFIFloat: return "a floating number";
    case kTVMFFIOpaquePtr: return "a pointer";
    case kTVMFFIDLTensorPtr:
    case kTVMFFITensor: return "a tensor";
    case kTVMFFIRawStr:
    case kTVMFFISmallStr:
    case kTVMFFIStr: return "a string";
    default: return "an object";
  }
}

ir::DataType dtype_of(const DLDataType& t) {
  ir::DataType d{static_cast<ir::TypeCode>(t.code), t.bits, t.lanes};
  if (d.is_bool()) d.bits = 8;
  return d;
}

// The same bits in memory: bool and the 8-bit integers, float8_e4m3 and float8_e4m3fn (one format under two names), and a raw unsigned
// integer of the same width for formats that the caller's array library lacks.
bool same_storage(ir::DataType want, ir::DataType got) {
  if (want == got || want.is_void()) return true;
  if (want.bits != got.bits || want.lanes != got.lanes) return false;
  auto byte = [](ir::DataType t) { return t.is_bool() || (t.is_integer() && t.bits == 8); };
  auto e4m3 = [](ir::DataType t) { return t.code == ir::TypeCode::kFloat8E4M3 || t.code == ir::TypeCode::kFloat8E4M3FN; };
  if ((byte(want) && got.is_bool()) || (want.is_bool() && byte(got)) || (e4m3(want) && e4m3(got))) return true;
  bool exotic = want.is_floating() && want.code != ir::TypeCode::kFloat;
  return exotic && got.is_uint();
}

// As Python writes it; "*" for a dimension that is not constant.
std::string shape_text(std::span<const int64_t> shape, bool declared = false) {
  std::string out = "(";
  for (int64_t d : shape) out += (out.size() > 1 ? ", " : "") + (declared && d < 0 ? "*" : std::to_string(d));
  return out + (shape.size() == 1 ? ",)" : ")");
}
std::span<const int64_t> shape_of(const DLTensor& t) { return {t.shape, static_cast<size_t>(t.ndim)}; }

// Row-major without gaps; a dimension of size 1 may have any stride. Not for empty tensors, of which nothing is asked.
bool is_compact(const DLTensor& t) {
  if (!t.strides) return true;
  int64_t expected = 1;
  for (int i = t.ndim; i-- > 0;) {
    if (t.shape[i] != 1 && t.strides[i] != expected) return false;
    expected *= t.shape[i];
  }
  return true;
}

std::string device_text(const DLDevice& device) {
  struct Named {
    DLDeviceType type;
    const char* name;
  };
  constexpr Named kNames[] = {
#include "runtime/device_names.def"
  };
  for (const Named& n : kNames) {
    if (n.type == device.device_type) return fmt::format("{}:{}", n.name, device.device_id);
  }
  return fmt::format("device type {}:{}", static_cast<int>(device.device_type), device.device_id);
}

Fault type_fault(std::string message) { return {"TypeError", std::move(message)}; }
Fault value_fault(std::string message) { return {"ValueError", std::move(message)}; }

Fault check_device(const DLDevice& got, Place& place) {
  if (std::ranges::find(place.reaches, static_cast<int>(got.device_type)) != place.reaches.end()) return {};
  if (static_cast<int>(got.device_type) != place.type) {
    std::string wanted = device_text({static_cast<DLDeviceType>(place.type), 0});
    return value_fault("expected a tensor on " + wanted.substr(0, wanted.rfind(':')) + ", got one on " + device_text(got));
  }
  if (place.type == kDLCPU) return {};
  if (place.device < 0) place.device = got.device_id;
  if (place.device == got.device_id) return {};
  return value_fault("expected a tensor on " + device_text({got.device_type, place.device}) + " as those before it, got one on " +
                     device_text(got));
}

// Two elements of 4 bits, as array libraries without such a dtype hold them.
bool holds_two(ir::DataType want, ir::DataType got) {
  if (want.bits != 4 || want.lanes != 1) return false;
  return (got.is_integer() && got.bits == 8 && got.lanes == 1) || got == want.with_lanes(2);
}

// `each`: elements that one of the tensor's holds, side by side in the last dimension.
Fault check_shape(const KernelParam& p, const DLTensor& t, int64_t elements, int64_t each) {
  int rank = static_cast<int>(p.shape.size());
  auto extent = [&](int i) { return i + 1 < rank || p.shape[i] < 0 ? p.shape[i] : (p.shape[i] + each - 1) / each; };
  if (rank > 1) {
    if (t.ndim != rank) {
      return value_fault(fmt::format("expected {} dimensions, got {} in shape {}", rank, t.ndim, shape_text(shape_of(t))));
    }
    for (int i = 0; i < rank; ++i) {
      if (extent(i) >= 0 && extent(i) != t.shape[i]) {
        std::vector<int64_t> shape = p.shape;
        shape.back() = extent(rank - 1);
        return value_fault("expected shape " + shape_text(shape, true) + ", got " + shape_text(shape_of(t)));
      }
    }
  } else if (rank == 1 && elements < extent(0)) {  // a dimension that is not constant is -1
    return value_fault(fmt::format("expected at least {} elements, got {} in shape {}", extent(0), elements, shape_text(shape_of(t))));
  }
  return {};
}

Fault check_alignment(const KernelParam& p, const void* data) {
  size_t alignment = p.alignment > 0     ? static_cast<size_t>(p.alignment)
                     : p.dtype.is_void() ? 1
                                         : static_cast<size_t>(p.dtype.element_bytes());
  size_t past = reinterpret_cast<uintptr_t>(data) % alignment;
  if (past != 0) return value_fault(fmt::format("expected memory aligned to {} bytes, got an address {} past it", alignment, past));
  return {};
}

Fault check_tensor(const KernelParam& p, const DLTensor* tensor, Place& place, void*& data) {
  if (!tensor) return value_fault("expected a tensor, got a null pointer");
  const DLTensor& t = *tensor;
  if (Fault f = check_device(t.device, place)) return f;
  ir::DataType got = dtype_of(t.dtype);
  int64_t each = holds_two(p.dtype, got) ? 2 : 1;
  if (each == 1 && !same_storage(p.dtype, got)) {
    return type_fault(fmt::format("expected {} tensor, got {}", ir::to_string(p.dtype), ir::to_string(got)));
  }
  if (t.ndim < 0 || (t.ndim > 0 && !t.shape)) return value_fault(fmt::format("expected a shape, got {} dimensions without sizes", t.ndim));
  int64_t elements = 1;
  for (int i = 0; i < t.ndim; ++i) {
    if (t.shape[i] < 0 || __builtin_mul_overflow(elements, t.shape[i], &elements)) {
      return value_fault("expected a shape that fits in memory, got " + shape_text(shape_of(t)));
    }
  }
  if (Fault f = check_shape(p, t, elements, each)) return f;
  if (elements != 0 && !is_compact(t)) {
    return value_fault("expected a compact row-major tensor, got strides " + shape_text({t.strides, static_cast<size_t>(t.ndim)}) +
                       " for shape " + shape_text(shape_of(t)));
  }
  data = t.data ? static_cast<char*>(t.data) + t.byte_offset : nullptr;
  if (elements == 0) return {};
  if (!data) return value_fault("expected memory, got a null pointer");
  return check_alignment(p, data);
}

std::string pointer_text(const KernelParam& p) { return p.dtype.is_void() ? "a tensor" : "a " + ir::to_string(p.dtype) + " tensor"; }

Fault bind_pointer(const KernelParam& p, const TVMFFIAny& a, Place& place, Slot& slot) {
  switch (a.type_index) {
    case kTVMFFIDLTensorPtr: return check_tensor(p, static_cast<const DLTensor*>(a.v_ptr), place, slot.pointer);
    case kTVMFFITensor: return check_tensor(p, TVMFFITensorGetDLTensorPtr(a.v_obj), place, slot.pointer);
    case kTVMFFIOpaquePtr:
      slot.pointer = a.v_ptr;
      if (!a.v_ptr) return value_fault("expected memory, got a null pointer");
      return p.alignment > 0 ? check_alignment(p, a.v_ptr) : Fault{};
    default: return type_fault(fmt::format("expected {}, got {}", pointer_text(p), type_name(a)));
  }
}

Fault bind_float(ir::DataType t, const TVMFFIAny& a, Slot& slot) {
  if (a.type_index != kTVMFFIInt && a.type_index != kTVMFFIFloat) {
    return type_fault(fmt::format("expected a number for {}, got {}", ir::to_string(t), type_name(a)));
  }
  double v = a.type_index == kTVMFFIInt ? static_cast<double>(a.v_int64) : a.v_float64;
  slot.bits = encode_float_literal(t, v);  // little-endian: the low bytes are the narrower value
  return {};
}

Fault bind_integer(ir::DataType t, const TVMFFIAny& a, Slot& slot) {
  if (a.type_index != kTVMFFIInt && a.type_index != kTVMFFIBool) {
    return type_fault(fmt::format("expected {} for {}, got {}", t.is_bool() ? "a bool" : "an integer", ir::to_string(t), type_name(a)));
  }
  int64_t v = a.v_int64;
  if (t.is_bool() && v != 0 && v != 1) return value_fault(fmt::format("expected 0 or 1 for bool, got {}", v));
  if (t.is_integer() && t.bits < 64) {
    int64_t low = t.is_uint() ? 0 : -(int64_t{1} << (t.bits - 1));
    int64_t high = (int64_t{1} << (t.is_uint() ? t.bits : t.bits - 1)) - 1;
    if (v < low || v > high) return value_fault(fmt::format("expected {} to {} for {}, got {}", low, high, ir::to_string(t), v));
  }
  slot.integer = v;
  return {};
}

Fault bind_handle(const KernelParam& p, const TVMFFIAny& a, Slot& slot) {
  if (p.is_tensor_map && (a.type_index != kTVMFFIOpaquePtr || !a.v_ptr)) {
    return type_fault(
        fmt::format("expected a pointer to a tensor map, got {}", a.type_index == kTVMFFIOpaquePtr ? "a null pointer" : type_name(a)));
  }
  bool none = a.type_index == kTVMFFINone;
  if (!none && a.type_index != kTVMFFIOpaquePtr) return type_fault(fmt::format("expected a pointer, got {}", type_name(a)));
  slot.pointer = none ? nullptr : a.v_ptr;
  return {};
}

Fault bind_argument(const KernelParam& p, const TVMFFIAny& a, Place& place, Slot& slot) {
  if (p.is_pointer) return bind_pointer(p, a, place, slot);
  if (p.dtype.is_floating()) return bind_float(p.dtype, a, slot);
  if (p.dtype.is_handle()) return bind_handle(p, a, slot);
  return bind_integer(p.dtype, a, slot);
}

// An object handed over instead of lent ("rvalue reference"): the reference stays the caller's to release.
TVMFFIAny lent(const TVMFFIAny& a) {
  if (a.type_index != kTVMFFIObjectRValueRef) return a;
  TVMFFIAny view{};
  view.v_obj = *static_cast<TVMFFIObject**>(a.v_ptr);
  view.type_index = view.v_obj ? view.v_obj->type_index : static_cast<int32_t>(kTVMFFINone);
  return view;
}

}  // namespace

Fault bind_arguments(const KernelInfo& kernel, const TVMFFIAny* args, int32_t count, Slot* slots, Place& place) {
  size_t n = kernel.params.size(), values = kernel.launch_params.size();
  if (static_cast<size_t>(count) != n + values) {
    std::string names;
    for (const KernelParam& p : kernel.params) names += (names.empty() ? "" : ", ") + p.name;
    for (const std::string& tag : kernel.launch_params) names += (names.empty() ? "" : ", ") + tag;
    return type_fault(fmt::format("expected {} argument{} ({}), got {}", n + values, n + values == 1 ? "" : "s", names, count));
  }
  for (size_t i = 0; i < n; ++i) {
    const KernelParam& p = kernel.params[i];
    Fault fault = bind_argument(p, lent(args[i]), place, slots[i]);
    if (fault) return {fault.kind, fmt::format("parameter '{}' (argument {}): {}", p.name, i, fault.message)};
  }
  constexpr ir::DataType kLaunchValue = {ir::TypeCode::kUInt, 32, 1};
  for (size_t i = n; i < n + values; ++i) {
    Fault fault = bind_integer(kLaunchValue, args[i], slots[i]);
    if (fault) return {fault.kind, fmt::format("launch value '{}' (argument {}): {}", kernel.launch_params[i - n], i, fault.message)};
  }
  return {};
}

}  // namespace kiln::runtime
