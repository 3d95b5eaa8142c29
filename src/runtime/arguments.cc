#include "runtime/arguments.h"

#include <dlpack/dlpack.h>
#include <fmt/format.h>

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

std::string shape_text(const int64_t* shape, int ndim) {
  return "(" + fmt::format("{}", fmt::join(shape, shape + ndim, ", ")) + (ndim == 1 ? ",)" : ")");
}

// Row-major without gaps; a dimension of size 1 may have any stride, and nothing is asked of an empty tensor.
bool is_compact(const DLTensor& t) {
  if (!t.strides) return true;
  int64_t expected = 1;
  for (int i = t.ndim; i-- > 0;) {
    if (t.shape[i] == 0) return true;
    if (t.shape[i] != 1 && t.strides[i] != expected) return false;
    expected *= t.shape[i];
  }
  return true;
}

std::string check_tensor(const KernelParam& p, const DLTensor& t, void*& data) {
  if (t.device.device_type != kDLCPU) {
    return fmt::format("expected a tensor in CPU memory, got one on device type {}", static_cast<int>(t.device.device_type));
  }
  ir::DataType got = dtype_of(t.dtype);
  if (!same_storage(p.dtype, got)) return fmt::format("expected a tensor of {}, got {}", ir::to_string(p.dtype), ir::to_string(got));
  int64_t elements = 1, wanted = 1;
  for (int i = 0; i < t.ndim; ++i) {
    if (t.shape[i] < 0 || __builtin_mul_overflow(elements, t.shape[i], &elements))
      return "its shape " + shape_text(t.shape, t.ndim) + " is not valid";
  }
  bool known = !p.shape.empty();
  for (int64_t d : p.shape) known = known && d >= 0 && !__builtin_mul_overflow(wanted, d, &wanted);
  if (p.shape.size() > 1) {
    bool same = static_cast<size_t>(t.ndim) == p.shape.size();
    if (!same) return fmt::format("expected {} dimensions, got {}", p.shape.size(), t.ndim);
    for (size_t i = 0; i < p.shape.size(); ++i) same = same && (p.shape[i] < 0 || p.shape[i] == t.shape[i]);
    if (!same) {
      return "expected shape " + shape_text(p.shape.data(), static_cast<int>(p.shape.size())) + ", got " + shape_text(t.shape, t.ndim);
    }
  } else if (known && elements < wanted) {
    return fmt::format("expected at least {} elements, got {} in shape {}", wanted, elements, shape_text(t.shape, t.ndim));
  }
  if (!is_compact(t)) {
    return "expected a compact tensor, got strides " + shape_text(t.strides, t.ndim) + " for shape " + shape_text(t.shape, t.ndim);
  }
  data = static_cast<char*>(t.data) + t.byte_offset;
  if (elements == 0) return {};
  if (!t.data) return "expected memory, got a null pointer";
  size_t alignment = p.dtype.is_void() ? 1 : static_cast<size_t>(p.dtype.element_bytes());
  if (reinterpret_cast<uintptr_t>(data) % alignment != 0) {
    return fmt::format("expected an address that is a multiple of {}, got one that is {} past it", alignment,
                       reinterpret_cast<uintptr_t>(data) % alignment);
  }
  return {};
}

std::string bind_pointer(const KernelParam& p, const TVMFFIAny& a, Slot& slot) {
  switch (a.type_index) {
    case kTVMFFIDLTensorPtr: return check_tensor(p, *static_cast<const DLTensor*>(a.v_ptr), slot.pointer);
    case kTVMFFITensor: return check_tensor(p, *TVMFFITensorGetDLTensorPtr(a.v_obj), slot.pointer);
    case kTVMFFIOpaquePtr: slot.pointer = a.v_ptr; return a.v_ptr ? "" : "expected memory, got a null pointer";
    case kTVMFFINone: return "expected a tensor, got none";
    default: return fmt::format("expected a tensor of {}, got {}", ir::to_string(p.dtype), type_name(a));
  }
}

std::string bind_scalar(const KernelParam& p, const TVMFFIAny& a, Slot& slot) {
  ir::DataType t = p.dtype;
  bool integer = a.type_index == kTVMFFIInt || a.type_index == kTVMFFIBool;
  if (t.is_floating()) {
    if (!integer && a.type_index != kTVMFFIFloat) return fmt::format("expected a number for {}, got {}", ir::to_string(t), type_name(a));
    double v = integer ? static_cast<double>(a.v_int64) : a.v_float64;
    if (t == ir::kFloat64)
      slot.f64 = v;
    else if (t == ir::kFloat32)
      slot.f32 = static_cast<float>(v);
    else
      slot.bits = encode_float(t, v);
    return {};
  }
  if (t.is_handle()) {
    if (a.type_index != kTVMFFIOpaquePtr && a.type_index != kTVMFFINone) return fmt::format("expected a pointer, got {}", type_name(a));
    slot.pointer = a.type_index == kTVMFFINone ? nullptr : a.v_ptr;
    return {};
  }
  if (!integer) return fmt::format("expected an integer for {}, got {}", ir::to_string(t), type_name(a));
  int64_t v = a.v_int64;
  if (t.is_bool() && v != 0 && v != 1) return fmt::format("expected 0 or 1 for bool, got {}", v);
  if (t.is_integer() && t.bits < 64) {
    int64_t low = t.is_uint() ? 0 : -(int64_t{1} << (t.bits - 1)), high = t.is_uint() ? (int64_t{1} << t.bits) - 1 : -low - 1;
    if (v < low || v > high) return fmt::format("expected a value of {} ({} to {}), got {}", ir::to_string(t), low, high, v);
  }
  slot.integer = v;  // little-endian: the low bytes are the narrower value
  return {};
}

}  // namespace

std::string bind_arguments(const KernelInfo& kernel, const TVMFFIAny* args, int32_t count, Slot* slots) {
  if (static_cast<size_t>(count) != kernel.params.size()) {
    std::string names;
    for (const KernelParam& p : kernel.params) names += (names.empty() ? "" : ", ") + p.name;
    return fmt::format("expected {} arguments ({}), got {}", kernel.params.size(), names, count);
  }
  for (size_t i = 0; i < kernel.params.size(); ++i) {
    const KernelParam& p = kernel.params[i];
    std::string wrong = p.is_pointer ? bind_pointer(p, args[i], slots[i]) : bind_scalar(p, args[i], slots[i]);
    if (!wrong.empty()) return fmt::format("parameter '{}' (argument {}): {}", p.name, i, wrong);
  }
  return {};
}

}  // namespace kiln::runtime
