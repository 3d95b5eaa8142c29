// kiln.Target, and what may stand for one.
#include <unordered_map>

#include "core.h"
#include "target/from_ir.h"

namespace kiln::python {

namespace {

// Targets of a compiler, by the address of the object that its Python wrapper holds. The wrapper is kept, so that no other object takes the
// address.
struct Live {
  nb::object wrapper, target;
};

struct Caches {
  nb::dict by_text;
  std::unordered_map<void*, Live> by_handle;
  PyTypeObject* live_type = nullptr;  // the class of the last live target
};

struct TargetKind {
  Target target;
};

}  // namespace

static constexpr size_t kCacheSize = 256;

static Caches& caches() {
  static auto* instance = new Caches;
  return *instance;
}

static nb::handle target_type() {
  static PyObject* type = nb::type<Target>().ptr();
  return type;
}

static nb::object from_text(nb::handle object) {
  nb::dict& cache = caches().by_text;
  PyObject* hit = PyDict_GetItemWithError(cache.ptr(), object.ptr());
  if (hit) return nb::borrow(hit);
  if (PyErr_Occurred()) throw nb::python_error();
  nb::object target = nb::cast(value_or_raise(Target::parse(utf8(object))));
  if (cache.size() >= kCacheSize) cache.clear();
  cache[object] = target;
  return target;
}

static void* handle_of(nb::handle object) {
  static PyObject* name = PyUnicode_InternFromString("__chandle__");
  nb::object handle = nb::steal(PyObject_CallMethodNoArgs(object.ptr(), name));
  if (!handle.is_valid()) throw nb::python_error();
  void* address = PyLong_AsVoidPtr(handle.ptr());
  if (!address && PyErr_Occurred()) throw nb::python_error();
  return address;
}

// The target that an object with a Target's attributes describes; nothing when it has none.
static nb::object convert(nb::handle object) {
  nb::object json = hooks().live_json(object);
  if (json.is_none()) return {};
  return nb::cast(value_or_raise(live_target_from_json(nb::cast<std::string_view>(json))));
}

static nb::object from_live(nb::handle object) {
  void* handle = handle_of(object);
  auto& cache = caches().by_handle;
  if (auto it = cache.find(handle); it != cache.end()) return it->second.target;
  nb::object target = convert(object);
  if (!target.is_valid() || !handle) return target;
  if (cache.size() >= kCacheSize) cache.clear();
  cache.emplace(handle, Live{nb::borrow(object), target});
  caches().live_type = Py_TYPE(object.ptr());  // lives: the cache has an object of it, or had one that was a target
  Py_INCREF(caches().live_type);
  return target;
}

nb::object target_object(nb::handle object) {
  PyTypeObject* type = Py_TYPE(object.ptr());
  if (reinterpret_cast<PyObject*>(type) == target_type().ptr()) {
    if (!nb::inst_ready(object)) throw nb::type_error("a kiln.Target was not initialised: it came from __new__ alone");
    return nb::borrow(object);
  }
  if (type == &PyUnicode_Type) return from_text(object);
  if (type == caches().live_type) {
    if (nb::object target = from_live(object); target.is_valid()) return target;
  }
  if (nb::isinstance<Target>(object)) return nb::borrow(object);
  if (PyUnicode_Check(object.ptr())) return from_text(nb::str(object));
  if (PyDict_Check(object.ptr())) {
    nb::object json = hooks().target_json(object);
    return nb::cast(value_or_raise(Target::parse(nb::cast<std::string_view>(json))));
  }
  nb::object target = nb::hasattr(object.type(), "__chandle__") ? from_live(object) : convert(object);
  if (!target.is_valid()) {
    throw nb::type_error(("a target must be a kiln.Target, a string, a dict or a compiler's Target, got " + class_name(object)).c_str());
  }
  return target;
}

// ---- kiln.Target -----------------------------------------------------------------------------------------------

static nb::object to_python(const AttrValue& value) {
  if (const bool* b = std::get_if<bool>(&value)) return nb::bool_(*b);
  if (const int64_t* i = std::get_if<int64_t>(&value)) return nb::int_(*i);
  if (const double* d = std::get_if<double>(&value)) return nb::float_(*d);
  if (const auto* s = std::get_if<std::string>(&value)) return text(*s);
  nb::list list;
  for (const std::string& s : std::get<std::vector<std::string>>(value)) list.append(text(s));
  return nb::tuple(list);
}

static nb::object attrs_of(const Target& target) {
  nb::dict attrs;
  for (const auto& [name, value] : target.attrs()) attrs[text(name)] = to_python(value);
  return nb::steal(PyDictProxy_New(attrs.ptr()));
}

static nb::tuple keys_of(const Target& target) {
  nb::list keys;
  for (const std::string& key : target.keys()) keys.append(text(key));
  return nb::tuple(keys);
}

static std::string repr(const Target& target) {
  return nb::cast<std::string>(nb::str("kiln.Target({!r})").attr("format")(text(target.to_string())));
}

void bind_target(nb::module_& m) {
  nb::class_<TargetKind>(m, "TargetKind", "A target's kind.")
      .def_prop_ro("name", [](const TargetKind& k) { return text(k.target.kind()); })
      .def_prop_ro(
          "default_device_type", [](const TargetKind& k) { return k.target.device_type(); }, "DLPack's DLDeviceType")
      .def("__str__", [](const TargetKind& k) { return text(k.target.kind()); })
      .def("__repr__", [](const TargetKind& k) { return text("kiln.TargetKind(" + k.target.kind() + ")"); })
      .def(
          "__eq__", [](const TargetKind& a, const TargetKind& b) { return a.target.kind() == b.target.kind(); }, nb::is_operator())
      .def("__hash__", [](const TargetKind& k) { return std::hash<std::string>()(k.target.kind()); });

  nb::class_<Target>(m, "Target", nb::is_final(), "A compilation target; immutable.")
      .def(
          "__init__",
          [](Target* self, nb::handle target) {
            nb::object converted = target_object(target);
            new (self) Target(as_target(converted));
          },
          nb::arg("target"))
      .def_prop_ro("kind", [](const Target& t) { return TargetKind{t}; })
      .def_prop_ro("keys", &keys_of)
      .def_prop_ro("attrs", &attrs_of)
      .def_prop_ro("tag", [](const Target& t) { return text(t.tag()); })
      .def_prop_ro("host", [](const Target& t) { return t.host() ? nb::cast(*t.host()) : nb::none(); })
      .def("to_json", [](const Target& t) { return text(t.to_json()); })
      .def("__str__", [](const Target& t) { return text(t.to_string()); })
      .def("__repr__", &repr)
      .def(
          "__eq__", [](const Target& a, const Target& b) { return a == b; }, nb::is_operator())
      .def("__hash__", [](const Target& t) { return std::hash<std::string>()(t.to_json()); });
}

}  // namespace kiln::python
