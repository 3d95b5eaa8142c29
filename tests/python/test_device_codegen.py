"""What users of kiln.device_codegen rely on."""

import dataclasses
import inspect
import itertools
import os
import pickle
import subprocess
import sys
import threading
import traceback
import types

import pytest

import kiln
from kiln import device_codegen as dc

CORPUS = os.path.join(os.path.dirname(__file__), "..", "corpus", "corpus", "c", "gemm_cpu_256")
MODULE = os.path.join(CORPUS, "device.json.gz")
counter = itertools.count()


@pytest.fixture
def kind():
    """A target kind that nobody has used yet."""
    return f"pytest_kind_{next(counter)}"


def record(name="a", **fields):
    return dc.DeviceCodegen(name, **fields)


def test_the_module_has_exactly_the_names_of_the_drop_in():
    names = {
        "DeviceCodegenFunc", "TargetPredicate", "DeviceCodegen", "global_func_device_codegen", "register_device_codegen",
        "register_lazy_device_codegen", "allowed_device_codegens_for_target", "resolve_device_codegen",
    }  # fmt: skip
    assert set(dc.__all__) == names


def test_signatures():
    def shape(function):
        return [(p.name, p.kind.name, p.default) for p in inspect.signature(function).parameters.values()]

    empty, positional = inspect.Parameter.empty, "POSITIONAL_OR_KEYWORD"
    assert shape(dc.register_device_codegen) == [
        ("target_kind", positional, empty), ("codegen", positional, empty), ("override", "KEYWORD_ONLY", False)
    ]  # fmt: skip
    assert shape(dc.register_lazy_device_codegen) == [("target_kind", positional, empty), ("import_path", positional, empty)]
    assert shape(dc.DeviceCodegen.lower)[-1] == ("compile_device", "KEYWORD_ONLY", empty)
    assert shape(dc.resolve_device_codegen) == [("target", positional, empty)]
    assert shape(dc.allowed_device_codegens_for_target) == [("target", positional, empty)]


def test_the_record_is_a_frozen_dataclass():
    a = record(build=print)
    assert a == record(build=print) and hash(a) == hash(record(build=print)) and a != record()
    assert dataclasses.replace(a, name="b").build is print
    with pytest.raises(dataclasses.FrozenInstanceError):
        a.name = "b"


def test_resolve_gives_the_registered_object(kind):
    first, second = record("a", supports_target=lambda t: False), record("b")
    assert dc.register_device_codegen(kind, first) is first
    dc.register_device_codegen(kind, second)
    assert dc.resolve_device_codegen(kind) is second
    assert dc.resolve_device_codegen(kiln.Target(kind)) is second
    assert dc.resolve_device_codegen({"kind": kind}) is second
    assert dc.allowed_device_codegens_for_target(kind) == ["b"]


def test_override_replaces_and_appends(kind):
    dc.register_device_codegen(kind, record("a"))
    dc.register_device_codegen(kind, record("b"))
    with pytest.raises(kiln.KilnError) as error:
        dc.register_device_codegen(kind, record("a"))
    assert str(error.value) == f"device codegen 'a' for target '{kind}' is already registered"
    new = record("a")
    dc.register_device_codegen(kind, new, override=True)
    assert dc.allowed_device_codegens_for_target(kind) == ["b", "a"]


def test_texts_of_errors(kind):
    dc.register_device_codegen(kind, record("n", supports_target=lambda t: False))
    with pytest.raises(ValueError) as error:
        dc.resolve_device_codegen(kind)
    assert str(error.value) == f"no device codegen matches target '{kind}', available: n"
    assert error.value.code == "no_codegen"
    with pytest.raises(ValueError, match="no device codegen matches target 'hexagon', available: <none>"):
        dc.resolve_device_codegen("hexagon")
    for compile_device, mode in ((True, "with"), (False, "without")):
        with pytest.raises(ValueError) as error:
            record("n").lower(None, "llvm", compile_device=compile_device)
        assert str(error.value) == f"device codegen 'n' for target 'llvm' does not support lowering {mode} compilation"


def test_wrong_types(kind):
    calls = [
        (lambda: dc.resolve_device_codegen(3), "got int"),
        (lambda: dc.register_device_codegen(3, record()), "target_kind must be a str, got int"),
        (lambda: dc.register_device_codegen(kind, "a"), "codegen must be a DeviceCodegen, got str"),
        (lambda: dc.register_device_codegen(kind, record(build=3)), "codegen.build must be callable or None, got int"),
        (lambda: dc.register_lazy_device_codegen(kind, None), "import_path must be a str, got NoneType"),
    ]
    for call, words in calls:
        with pytest.raises(TypeError, match=words):
            call()


def test_lower_passes_objects_as_they_are():
    module, target, result = object(), object(), object()
    seen = []
    assert record(build=lambda m, t: seen.append((m, t)) or result).lower(module, target, compile_device=True) is result
    assert seen[0][0] is module and seen[0][1] is target


def test_predicates_get_the_object_that_was_asked_about(kind):
    seen = []
    dc.register_device_codegen(kind, record(supports_target=lambda t: seen.append(t) or True))
    live = types.SimpleNamespace(kind=types.SimpleNamespace(name=kind), attrs={"x": 1}, keys=["k"], tag="", host=None)
    dc.resolve_device_codegen(live)
    dc.allowed_device_codegens_for_target(live)
    assert seen[0] is live and seen[1] is live
    kiln.explain(kind)
    assert isinstance(seen[2], kiln.Target)


def test_exceptions_of_callbacks_come_back_as_they_were(kind):
    boom = KeyError("boom")

    def fail(*_):
        raise boom

    dc.register_device_codegen(kind, record("a", supports_target=fail))
    for call in (dc.resolve_device_codegen, dc.allowed_device_codegens_for_target):
        with pytest.raises(KeyError) as error:
            call(kind)
        assert error.value is boom
    dc.register_device_codegen(kind, record("a", build=fail), override=True)
    with pytest.raises(KeyError) as error:
        kiln.build(MODULE, kind)  # through C++
    assert error.value is boom
    assert dc.allowed_device_codegens_for_target(kind) == ["a"]


def test_cpp_calls_codegens_of_python(kind):
    c = dc.resolve_device_codegen("c")
    dc.register_device_codegen(kind, record("relay", build=lambda m, t: c.lower(m, "c", compile_device=True)))
    built = kiln.build(MODULE, kind)
    assert built.functions == ["naive_kernel"]
    assert "naive_kernel" in built.inspect_source()
    assert callable(built["naive_kernel"])
    dc.register_device_codegen(kind, record("relay", build=lambda m, t: 3), override=True)
    with pytest.raises(kiln.KilnError, match="device codegen 'relay' must return a kiln.Module or a tvm_ffi.Module, it returned int"):
        kiln.build(MODULE, kind)


def test_records_of_cpp_entries():
    c = dc.resolve_device_codegen("c")
    assert c.name == "c" and c is dc.resolve_device_codegen("c") and c.matches("c")
    assert "naive_kernel" in c.lower(kiln.IRModule.load(MODULE), "c", compile_device=False).inspect_source()


def test_targets():
    target = kiln.Target({"kind": "cuda", "arch": "sm_90a", "host": {"kind": "c"}})
    assert target.kind.name == "cuda" and list(target.keys) == ["cuda", "gpu"] and target.tag == ""
    assert dict(target.attrs) == {"arch": "sm_90a"} and target.host.kind.name == "c"
    assert kiln.Target(target.to_json()) == target and hash(kiln.Target(target.to_json())) == hash(target)
    assert str(kiln.Target("cuda -arch=sm_90a")) == "cuda -arch=sm_90a -keys=cuda,gpu"
    with pytest.raises(kiln.KilnError, match="target 'cudaa' is not known") as error:
        kiln.Target("cudaa")
    assert "did you mean 'cuda'" in error.value.hint


def test_live_targets_keep_unknown_attributes():
    kind = types.SimpleNamespace(name="cuda")
    live = types.SimpleNamespace(kind=kind, attrs={"brand_new": 7, "feature.x": True}, keys=["cuda"], tag="", host=None)
    assert dict(kiln.Target(live).attrs) == {"brand_new": 7, "feature.x": True}


def write_backend(folder, name, text):
    (folder / f"{name}.py").write_text("from kiln import device_codegen as dc\n" + text)


def test_lazy_modules_load_once_and_again_when_asked(kind, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    name = f"lazy_{kind}"
    write_backend(tmp_path, name, f"dc.register_device_codegen({kind!r}, dc.DeviceCodegen('lazy'))\n")
    dc.register_lazy_device_codegen(kind, name)
    first = dc.resolve_device_codegen(kind)
    assert first.name == "lazy" and dc.resolve_device_codegen(kind) is first
    dc.register_lazy_device_codegen(kind, name)
    assert dc.resolve_device_codegen(kind) is not first
    assert dc.allowed_device_codegens_for_target(kind) == ["lazy"]


def test_a_lazy_load_that_fails_leaves_no_trace_and_is_tried_again(kind, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    name = f"failing_{kind}"
    dc.register_lazy_device_codegen(kind, name)
    register = f"dc.register_device_codegen({kind!r}, dc.DeviceCodegen('half'))\n"
    with pytest.raises(kiln.KilnError, match=f"backend '{name}' for target '{kind}' did not load: ModuleNotFoundError") as error:
        dc.resolve_device_codegen(kind)
    assert isinstance(error.value.__cause__, ModuleNotFoundError)
    write_backend(tmp_path, name, register + "raise RuntimeError('no device')\n")
    with pytest.raises(kiln.KilnError, match="RuntimeError: no device") as error:
        dc.resolve_device_codegen(kind)
    assert isinstance(error.value.__cause__, RuntimeError)
    write_backend(tmp_path, name, register)
    assert dc.resolve_device_codegen(kind).name == "half"


def test_other_threads_go_on_while_a_module_loads(kind, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    name = f"slow_{kind}"
    gate, started = threading.Event(), threading.Event()
    monkeypatch.setattr(sys.modules[__name__], "slow", (gate, started), raising=False)
    monkeypatch.setitem(sys.modules, f"gates_{kind}", sys.modules[__name__])
    write_backend(
        tmp_path,
        name,
        f"import gates_{kind} as gates\ngates.slow[1].set()\nassert gates.slow[0].wait(20)\n"
        f"dc.register_device_codegen({kind!r}, dc.DeviceCodegen('slow'))\n",
    )
    dc.register_lazy_device_codegen(kind, name)
    results = []
    threads = [threading.Thread(target=lambda: results.append(dc.resolve_device_codegen(kind))) for _ in range(4)]
    for thread in threads:
        thread.start()
    assert started.wait(20)
    assert dc.resolve_device_codegen("c").name == "c"  # neither the GIL nor a lock is held by those who wait
    gate.set()
    for thread in threads:
        thread.join(20)
    assert len(results) == 4 and all(r is results[0] for r in results)


def run(code, **env):
    return subprocess.run([sys.executable, "-c", code], env={**os.environ, **env}, capture_output=True, text=True, timeout=60)


def test_the_command_sees_what_python_registered(kind):
    code = (
        "from kiln import _core, device_codegen as dc\n"
        f"dc.register_device_codegen({kind!r}, dc.DeviceCodegen('mine'))\n"
        f"raise SystemExit(_core.run_command(['kiln', 'resolve', {kind!r}]))"
    )
    done = run(code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "mine\n", "")


def test_a_python_backend_with_a_manifest(kind, tmp_path):
    write_backend(tmp_path, "manifest_backend", f"dc.register_device_codegen({kind!r}, dc.DeviceCodegen('from_manifest'))\n")
    (tmp_path / "manifest.json").write_text(
        f'{{"name": "pytest_{kind}", "kinds": ["{kind}"], "description": "a test", "python": "manifest_backend"}}'
    )
    done = run(f"import sys; sys.argv[1:] = ['resolve', {kind!r}]; from kiln.__main__ import main; sys.exit(main())",
               KILN_BACKEND_PATH=str(tmp_path))  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "from_manifest\n", "")


def test_entry_points(kind, tmp_path):
    info = tmp_path / "some_backend-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: some-backend\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[kiln.backends]\nsome = some_backend\nbroken = not_there\n")
    package = tmp_path / "some_backend"
    package.mkdir()
    (package / "__init__.py").write_text("")
    write_backend(package, "codegen", f"dc.register_device_codegen({kind!r}, dc.DeviceCodegen('by_entry_point'))\n")
    (package / "manifest.json").write_text(
        f'{{"name": "some", "kinds": ["{kind}"], "description": "a test", "python": "some_backend.codegen"}}'
    )
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    code = f"import sys; sys.argv[1:] = %r; from kiln.__main__ import main; sys.exit(main())"
    done = run(code % ["resolve", kind], PYTHONPATH=path)
    assert (done.returncode, done.stdout) == (0, "by_entry_point\n"), done.stderr
    done = run(code % ["list"], PYTHONPATH=path)
    assert "entry point some" in done.stdout
    assert "there is no package 'not_there'" in done.stderr


def test_the_interpreter_ends_with_entries_registered(kind):
    done = run(f"from kiln import device_codegen as dc; dc.register_device_codegen({kind!r}, dc.DeviceCodegen('a', build=print))")
    assert (done.returncode, done.stderr) == (0, "")


def test_build_takes_live_targets_with_unknown_attributes():
    name = types.SimpleNamespace(name="c")
    live = types.SimpleNamespace(kind=name, attrs={"brand_new": 7}, keys=["cpu"], tag="", host=None)
    assert kiln.build(MODULE, live).functions == ["naive_kernel"]


def test_other_languages_and_python_share_the_registry(kind):
    import tvm_ffi

    dc.register_device_codegen(kind, record("mine", supports_target=lambda t: isinstance(t, kiln.Target)))
    assert tvm_ffi.get_global_func("kiln.resolve_device_codegen")(kind) == "mine"
    register = tvm_ffi.get_global_func("kiln.register_device_codegen")
    register(kind, "theirs", tvm_ffi.convert(lambda m, t: 3), None, None, False)
    assert dc.allowed_device_codegens_for_target(kiln.Target(kind)) == ["mine", "theirs"]


def test_global_functions_as_codegens(kind):
    import tvm_ffi

    name = f"pytest.{kind}"
    build = dc.global_func_device_codegen(name)  # looked up when called
    with pytest.raises(kiln.KilnError, match=f"global function '{name}' is not registered"):
        build(kiln.IRModule.load(MODULE), "c")
    made = dc.resolve_device_codegen("c").lower(kiln.IRModule.load(MODULE), "c", compile_device=True).to_tvm_ffi()
    tvm_ffi.register_global_func(name, lambda m, t: made)
    dc.register_device_codegen(kind, record("by_name", build=build))
    assert kiln.build(MODULE, kind).functions == ["naive_kernel"]


def test_stubs_and_extension_agree():
    stub = open(os.path.join(os.path.dirname(kiln.__file__), "_core.pyi"), encoding="utf-8").read()
    for cls in (kiln.Target, kiln.IRModule, kiln.Module):
        public = [n for n in vars(cls) if not n.startswith("_")]
        assert public and all(f"def {n}(" in stub for n in public), cls


def test_config_names_folders_of_the_package():
    done = subprocess.run([sys.executable, "-m", "kiln.config", "--libdir"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout.strip().endswith(os.path.join("kiln", "lib"))


def test_a_refusal_in_python_is_one_of_kiln(kind, tmp_path):
    refusal = kiln.KilnError("no float32 here", code="unsupported", place="gemm.py:3", hint="use int32")

    def refuse(mod, target):
        raise refusal

    dc.register_device_codegen(kind, record(build=refuse))
    with pytest.raises(kiln.KilnError) as error:
        kiln.build(MODULE, target=kind)
    assert error.value is refusal
    with pytest.raises(kiln.KilnError) as error:  # another error, later, is not that object
        kiln.build(MODULE, target="no_such_kind")
    assert error.value.code == "unknown_target"

    (tmp_path / "refuser.py").write_text(
        "import kiln\nfrom kiln import device_codegen as dc\n"
        "def refuse(mod, target):\n    raise kiln.KilnError('no float32 here', code='unsupported', place='gemm.py:3', hint='use int32')\n"
        "dc.register_device_codegen('refuser', dc.DeviceCodegen('refuser', build=refuse, build_without_compile=refuse))\n"
    )
    (tmp_path / "manifest.json").write_text('{"name": "refuser", "kinds": ["refuser"], "description": "", "python": "refuser"}')
    environment = {**os.environ, "KILN_BACKEND_PATH": str(tmp_path)}
    command = [sys.executable, "-m", "kiln"]
    done = subprocess.run([*command, "build", MODULE, "--target", "refuser"], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "kiln: error: gemm.py:3: no float32 here (use int32)\n")
    done = subprocess.run([*command, "conformance", "refuser", "--filter", "add_float32"], env=environment, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.endswith("0 passed, 0 failed, 11 skipped\n")


def test_an_error_says_where(tmp_path):
    path = str(tmp_path / "gemm.json")
    with pytest.raises(kiln.KilnError) as error:
        kiln.build(path)
    assert str(error.value) == f"{path}: cannot open the file: No such file or directory"
    assert (error.value.message, error.value.place) == ("cannot open the file: No such file or directory", path)
    with pytest.raises(kiln.KilnError) as error:
        kiln.IRModule.parse("GEMM runs in tiles.", "notes.txt")
    shown = "".join(traceback.format_exception(error.value))
    assert "notes.txt: expected a module" in shown and "save_json" in error.value.hint
    assert sys.version_info < (3, 11) or error.value.hint in shown
    copy = pickle.loads(pickle.dumps(error.value))
    assert (str(copy), copy.code, copy.hint) == (str(error.value), "parse", error.value.hint)


def test_what_is_no_target_is_a_type_error(kind):
    for bad in (kiln.Target.__new__(kiln.Target), None, 3):
        with pytest.raises(TypeError):
            dc.resolve_device_codegen(bad)
    with pytest.raises(ValueError):  # a lone surrogate is no text
        dc.resolve_device_codegen("\ud800")
    with pytest.raises(ValueError):
        dc.register_device_codegen(kind, record("\ud800"))

    class Live:
        def __init__(self, name, address):
            self.kind, self.address = types.SimpleNamespace(name=name), address

        def __chandle__(self):
            return self.address

    dc.register_device_codegen(kind, record())
    assert dc.allowed_device_codegens_for_target(Live(kind, 64)) == ["a"]
    with pytest.raises(TypeError, match="a target must be a kiln.Target, a string, a dict or a compiler's Target, got Live"):
        dc.resolve_device_codegen(Live(None, 128))


def test_a_predicate_may_explain_its_own_target(kind):
    seen = []

    def predicate(target):
        if not seen:
            seen.append(None)
            seen.append(kiln.explain(target)["codegen"])
        return True

    dc.register_device_codegen(kind, record(supports_target=predicate))
    assert dc.resolve_device_codegen(kind).name == "a" and seen[1] == "a"


def test_a_package_loads_again_with_what_is_below_it(kind, tmp_path, monkeypatch):
    name = f"package_{kind}"
    folder = tmp_path / name
    folder.mkdir()
    (folder / "codegens.py").write_text(f"from kiln import device_codegen as dc\ndc.register_device_codegen('{kind}', dc.DeviceCodegen('a'))\n")
    (folder / "__init__.py").write_text("from . import codegens\nraise RuntimeError('not yet')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    dc.register_lazy_device_codegen(kind, name)
    with pytest.raises(kiln.KilnError, match="not yet"):
        dc.resolve_device_codegen(kind)
    (folder / "__init__.py").write_text("from . import codegens  # mended\n")
    assert dc.allowed_device_codegens_for_target(kind) == ["a"]
    dc.register_lazy_device_codegen(kind, name)
    assert dc.allowed_device_codegens_for_target(kind) == ["a"]


def test_a_module_that_the_program_imported_registers_once(kind, tmp_path, monkeypatch):
    name = f"own_{kind}"
    (tmp_path / f"{name}.py").write_text(f"from kiln import device_codegen as dc\ndc.register_device_codegen('{kind}', dc.DeviceCodegen('a'))\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    __import__(name)
    for _ in range(2):
        dc.register_lazy_device_codegen(kind, name)
        assert dc.allowed_device_codegens_for_target(kind) == ["a"]


def test_broken_metadata_of_another_package_hides_no_backend(tmp_path):
    for folder, points in (("good-1.dist-info", "[kiln.backends]\ngoodk = good_package\n"), ("bad-1.dist-info", "foo\n\xff")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "METADATA").write_text(f"Name: {folder[:-12]}\nVersion: 1\n")
        (tmp_path / folder / "entry_points.txt").write_bytes(points.encode("latin-1"))
    (tmp_path / "good_package").mkdir()
    (tmp_path / "good_package" / "__init__.py").write_text("")
    (tmp_path / "good_package" / "manifest.json").write_text('{"name": "goodk", "kinds": ["goodk"], "description": "", "python": "good_package"}')
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run([sys.executable, "-m", "kiln", "list"], env=environment, capture_output=True, text=True)
    assert "goodk  target kinds: goodk  (entry point goodk" in done.stdout, done.stdout + done.stderr
