// Device codegens of Python for C++, and those of C++ for Python.
#include <unordered_map>

#include "core.h"
#include "registry/registry.h"

namespace kiln::python {

namespace {

// The resolution that this thread is in the middle of: its predicates get the object that the caller passed.
struct Resolution {
  Resolution(const Target& target, nb::handle object) : target(&target), object(object), outer(std::exchange(innermost, this)) {}
  ~Resolution() { innermost = outer; }
  Resolution(const Resolution&) = delete;
  Resolution& operator=(const Resolution&) = delete;

  const Target* target;
  nb::handle object;
  Resolution* outer;
  static thread_local Resolution* innermost;
};
thread_local Resolution* Resolution::innermost = nullptr;

// A codegen function of a registered record, which keeps it alive.
struct PythonFunction {
  PyObject* function;
  std::string name;
  Result<Module> operator()(const IRModule& module, const Target& target) const;
};

struct PythonPredicate {
  PyObject* function;
  bool operator()(const Target& target) const;
};

// A codegen function of C++, as Python calls it.
struct NativeFunction {
  const DeviceCodegen* codegen;
  bool compile;
};

struct NativePredicate {
  const DeviceCodegen* codegen;
};

}  // namespace

Result<Module> PythonFunction::operator()(const IRModule& module, const Target& target) const {
  if (!python_runs())
    return Error{Code::kUnsupported, "device codegen '" + name + "' belongs to a Python interpreter that has ended", "", ""};
  nb::gil_scoped_acquire acquire;
  try {
    nb::object result = nb::handle(function)(nb::cast(module), nb::cast(target));
    return module_of(result, "device codegen '" + name + "'");
  } catch (const nb::python_error& e) {
    if (e.matches(hooks().error)) return error_of(e);
    throw;
  }
}

static bool ask(PyObject* predicate, nb::handle target) {
  nb::object answer = nb::steal(PyObject_CallOneArg(predicate, target.ptr()));
  int truth = answer.is_valid() ? PyObject_IsTrue(answer.ptr()) : -1;
  if (truth < 0) throw nb::python_error();
  return truth != 0;
}

bool PythonPredicate::operator()(const Target& target) const {
  const Resolution* current = Resolution::innermost;
  bool same = current && current->target == &target;
  if (same && PyGILState_Check()) return ask(function, current->object);
  if (!python_runs()) return false;
  nb::gil_scoped_acquire acquire;  // C++ asks, or a predicate asked about its own target through C++
  return ask(function, same ? nb::borrow(current->object) : nb::cast(target));
}

// ---- records ---------------------------------------------------------------------------------------------------

using Records = std::unordered_map<const DeviceCodegen*, PyObject*>;

static Records& records() {
  static auto* instance = new Records;
  return *instance;
}

static PyObject* keep(nb::object object) { return object.release().ptr(); }

static nb::object native_record(const DeviceCodegen* codegen) {
  auto function = [&](const DeviceCodegenFunc& f, bool compile) { return f ? nb::cast(NativeFunction{codegen, compile}) : nb::none(); };
  nb::object predicate = codegen->supports_target ? nb::cast(NativePredicate{codegen}) : nb::none();
  return hooks().record(text(codegen->name), function(codegen->build, true), function(codegen->build_without_compile, false), predicate);
}

static nb::object record_of(const DeviceCodegen* codegen) {
  auto it = records().find(codegen);
  if (it == records().end()) it = records().emplace(codegen, keep(native_record(codegen))).first;
  return nb::borrow(it->second);
}

static void register_record(const std::string& kind, nb::object record, bool override) {
  DeviceCodegen codegen;
  codegen.name = utf8(nb::object(record.attr("name")));
  nb::object build = record.attr("build"), source = record.attr("build_without_compile"), predicate = record.attr("supports_target");
  if (!build.is_none()) codegen.build = PythonFunction{build.ptr(), codegen.name};
  if (!source.is_none()) codegen.build_without_compile = PythonFunction{source.ptr(), codegen.name};
  if (!predicate.is_none()) codegen.supports_target = PythonPredicate{predicate.ptr()};
  const DeviceCodegen* entry = value_or_raise(register_device_codegen(kind, std::move(codegen), override));
  for (nb::object* part : {&build, &source, &predicate}) keep(std::move(*part));
  records().emplace(entry, keep(std::move(record)));
}

// ---- resolving -------------------------------------------------------------------------------------------------

// Loads the kind's pending backends. A thread that holds the GIL never waits for a load, since the loading thread may need the GIL.
static void load(registry::KindSlot& slot, unsigned* loads) {
  take_import_error();
  Status status = without_gil([&] { return registry::load_pending(slot, nullptr, loads); });
  nb::object cause = take_import_error();
  if (status) return;
  if (cause.is_valid() &&
      !PyErr_GivenExceptionMatches(cause.ptr(), PyExc_Exception)) {  // KeyboardInterrupt and its like end more than a load
    PyErr_SetObject(cause.type().ptr(), cause.ptr());
    throw nb::python_error();
  }
  raise(status.error(), cause);
}

// Asks the kind's entries one after another until `done(entry)`, and again when a load was changing the list meanwhile: a backend that
// loads again is without its codegens for a moment.
template <class Begin, class Done>
static void walk(registry::KindSlot& slot, Begin begin, Done done) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    unsigned loads = slot.loads.load(std::memory_order_acquire);
    if (slot.needs_loading()) load(slot, &loads);
    begin();
    for (const registry::Entry* entry : slot.list()) {
      if (done(entry->codegen)) return;
    }
    if (slot.loads.load(std::memory_order_acquire) == loads) return;
  }
}

static nb::object resolve(nb::handle object) {
  nb::object target = target_object(object);
  const Target& t = as_target(target);
  const DeviceCodegen* match = nullptr;
  Resolution resolution(t, object);
  walk(
      *t.slot(), [] {}, [&](const DeviceCodegen& codegen) { return codegen.matches(t) ? (match = &codegen, true) : false; });
  if (!match) raise(registry::none_matches(*t.slot()));
  return record_of(match);
}

static nb::list allowed(nb::handle object) {
  nb::object target = target_object(object);
  const Target& t = as_target(target);
  nb::list names;
  Resolution resolution(t, object);
  walk(
      *t.slot(), [&] { names.clear(); },
      [&](const DeviceCodegen& codegen) {
        if (codegen.matches(t)) names.append(text(codegen.name));
        return false;
      });
  return names;
}

static nb::object lower(const NativeFunction& f, nb::handle module, nb::handle target_or_text) {
  IRModule ir = ir_module_of(module);
  nb::object target = target_object(target_or_text);
  const Target& t = as_target(target);
  Module lowered = value_or_raise(without_gil([&] { return f.codegen->lower(ir, t, f.compile); }));
  return nb::isinstance<IRModule>(module) ? nb::cast(lowered) : to_tvm_ffi(lowered);  // a compiler's module gives what that compiler takes
}

static bool matches(const NativePredicate& p, nb::handle object) {
  nb::object target = target_object(object);
  return without_gil([&] { return p.codegen->matches(as_target(target)); });
}

static nb::object call_global(const std::string& name, const IRModule& module, nb::handle target_or_text) {
  nb::object target = target_object(target_or_text);
  return nb::cast(value_or_raise(without_gil([&] { return global_func_device_codegen(name)(module, as_target(target)); })));
}

// ---- explain ---------------------------------------------------------------------------------------------------

static std::string_view state_name(KindBackend::State state) {
  switch (state) {
    case KindBackend::State::kLoadedNow: return "loaded now";
    case KindBackend::State::kLoadedEarlier: return "loaded earlier";
    case KindBackend::State::kLoading: return "loading";
    case KindBackend::State::kFailed: return "failed";
    case KindBackend::State::kPending: return "pending";
  }
  return "";
}

static nb::object error_text(const std::optional<Error>& error) { return error ? nb::object(text(error->to_string())) : nb::none(); }

static nb::dict explain(nb::handle object) {
  nb::object target = target_object(object);
  Explanation e = without_gil([&] { return explain_device_codegen(as_target(target)); });
  nb::list backends, candidates, left_out;
  for (const KindBackend& b : e.backends) {
    nb::dict row;
    row["path"] = text(b.path);
    row["origin"] = text(b.origin);
    row["source"] = text(b.source);
    row["state"] = text(state_name(b.state));
    row["error"] = error_text(b.error);
    backends.append(row);
  }
  for (const Candidate& c : e.candidates) {
    nb::dict row;
    row["name"] = text(c.name);
    row["matches"] = nb::bool_(c.matches);
    row["origin"] = text(c.origin);
    row["reason"] = text(c.reason);
    candidates.append(row);
  }
  for (const Error& error : e.left_out) left_out.append(text(error.to_string()));
  nb::dict out;
  out["target"] = target;
  out["codegen"] = e.chosen ? nb::object(text(e.chosen->name)) : nb::none();
  out["candidates"] = candidates;
  out["backends"] = backends;
  out["left_out"] = left_out;
  out["error"] = error_text(e.error);
  return out;
}

void bind_codegens(nb::module_& m) {
  nb::class_<NativeFunction>(m, "NativeFunction", "A codegen function of C++.").def("__call__", &lower, nb::arg("mod"), nb::arg("target"));
  nb::class_<NativePredicate>(m, "NativePredicate", "A target predicate of C++.").def("__call__", &matches, nb::arg("target"));
  m.def("register", &register_record);
  m.def("register_lazy",
        [](const std::string& kind, const std::string& path) { value_or_raise(register_lazy_device_codegen(kind, path)); });
  m.def("resolve", &resolve, nb::arg("target").none());
  m.def("allowed", &allowed, nb::arg("target").none());
  m.def("explain", &explain, nb::arg("target").none());
  m.def("call_global", &call_global);
}

}  // namespace kiln::python
