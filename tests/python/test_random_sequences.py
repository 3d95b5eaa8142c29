"""Random calls of kiln.device_codegen agree, result for result and text for text, with a model of the registry's semantics."""

import itertools
import random
import sys

import pytest

from kiln import device_codegen as dc

sequence_number = itertools.count()
pending = {}  # import path -> what the module does when it is imported


class Finder:
    """Modules whose import runs the function that `pending` has for them."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        import importlib.machinery

        return importlib.machinery.ModuleSpec(name, Finder) if name in pending else None

    create_module = staticmethod(lambda spec: None)
    exec_module = staticmethod(lambda module: pending[module.__name__]())


@pytest.fixture(autouse=True, scope="module")
def finder():
    sys.meta_path.append(Finder)
    yield
    sys.meta_path.remove(Finder)


class Kind:
    def __init__(self):
        self.entries = []  # records in registration order
        self.lazy = []  # paths in registration order


class Model:
    """The semantics in plain Python; errors are texts."""

    def __init__(self):
        self.kinds = {}
        self.loaded = {}  # path -> whether it is loaded
        self.origin = {}  # id(record) -> path that registered it
        self.backends = {}  # path -> (fails, [(kind, record)])

    def kind(self, name):
        return self.kinds.setdefault(name, Kind())

    def register(self, kind, record, override=False, path=None):
        entries = self.kind(kind).entries
        old = [e for e in entries if e.name == record.name]
        if old and not override:
            return f"device codegen '{record.name}' for target '{kind}' is already registered"
        entries[:] = [e for e in entries if e not in old] + [record]
        self.origin[id(record)] = path
        return record

    def register_lazy(self, kind, path):
        self.loaded[path] = False
        if path not in self.kind(kind).lazy:
            self.kind(kind).lazy.append(path)

    def load(self, kind):
        for path in self.kind(kind).lazy:
            if self.loaded[path]:
                continue
            fails, registers = self.backends[path]
            before = {name: list(k.entries) for name, k in self.kinds.items()}
            for k in self.kinds.values():
                k.entries[:] = [e for e in k.entries if self.origin[id(e)] != path]
            error = None
            for where, record in registers:
                result = self.register(where, record, path=path)
                if isinstance(result, str):
                    error = f"KilnError: {result}"
                    break
            if error is None and fails:
                error = "RuntimeError: no device"
            if error is None:
                self.loaded[path] = True
                continue
            for name, k in self.kinds.items():
                k.entries[:] = before.get(name, [])
            return f"backend '{path}' for target '{kind}' did not load: {error}"
        return None

    def allowed(self, kind):
        return self.load(kind) or [e.name for e in self.kind(kind).entries if e.supports_target is None or e.supports_target(None)]

    def resolve(self, kind):
        error = self.load(kind)
        if error:
            return error
        for entry in self.kind(kind).entries:
            if entry.supports_target is None or entry.supports_target(None):
                return entry
        names = ", ".join(e.name for e in self.kind(kind).entries) or "<none>"
        return f"no device codegen matches target '{kind}', available: {names}"

    def lower(self, kind, compile_device):
        entry = self.resolve(kind)
        if isinstance(entry, str):
            return entry
        function = entry.build if compile_device else entry.build_without_compile
        if function is None:
            mode = "with" if compile_device else "without"
            return f"device codegen '{entry.name}' for target '{kind}' does not support lowering {mode} compilation"
        return function(None, None)


def outcome(call):
    try:
        return call()
    except ValueError as error:
        return str(error)


def new_record(rng):
    def function():
        return rng.choice([None, lambda mod, target, value=rng.random(): value])

    predicate = rng.choice([None, lambda target: True, lambda target: False])
    return dc.DeviceCodegen(rng.choice("abcd"), function(), function(), predicate)


def new_backend(rng, model, prefix, kinds, paths):
    path = f"{prefix}_{len(model.backends)}"
    fails = rng.random() < 0.3
    registers = [(rng.choice(kinds), new_record(rng)) for _ in range(rng.randint(0, 2))]
    model.backends[path] = (fails, registers)
    paths.append(path)

    def load():
        for kind, record in registers:
            dc.register_device_codegen(kind, record)
        if model.backends[path][0]:
            raise RuntimeError("no device")

    pending[path] = load


def step(rng, model, kinds, paths, prefix):
    """One random call: what the registry did, and what the model did."""
    kind = rng.choice(kinds)
    choice = rng.randrange(9)
    if choice <= 1:
        record, override = new_record(rng), rng.random() < 0.4
        return outcome(lambda: dc.register_device_codegen(kind, record, override=override)), model.register(kind, record, override)
    if choice == 2:
        if not paths or rng.random() < 0.7:
            new_backend(rng, model, prefix, kinds, paths)
        path = rng.choice(paths)
        return dc.register_lazy_device_codegen(kind, path), model.register_lazy(kind, path)
    if choice == 3 and paths:  # a backend that failed is repaired
        path = rng.choice(paths)
        model.backends[path] = (False, model.backends[path][1])
        return None, None
    if choice <= 5:
        return outcome(lambda: dc.allowed_device_codegens_for_target(kind)), model.allowed(kind)
    if choice <= 7:
        return outcome(lambda: dc.resolve_device_codegen({"kind": kind})), model.resolve(kind)
    compile_device = rng.random() < 0.5
    lower = lambda: dc.resolve_device_codegen(kind).lower(None, kind, compile_device=compile_device)  # noqa: E731
    return outcome(lower), model.lower(kind, compile_device)


@pytest.mark.parametrize("seed", range(8))
def test_sequences(seed):
    rng = random.Random(seed)
    for _ in range(40):
        prefix = f"sequence{next(sequence_number)}"
        kinds = [f"{prefix}_k{i}" for i in range(3)]
        model, paths = Model(), []
        for kind in kinds:  # so that every kind is known
            record = dc.DeviceCodegen("first", supports_target=lambda t: False)
            assert dc.register_device_codegen(kind, record) is model.register(kind, record)
        for number in range(40):
            got, expected = step(rng, model, kinds, paths, prefix)
            where = f"seed {seed}, {prefix}, step {number}"
            assert got is expected or (not isinstance(expected, dc.DeviceCodegen) and got == expected), where
