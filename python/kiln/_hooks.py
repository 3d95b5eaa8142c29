"""What the extension asks Python for. Nothing here imports a compiler: its objects bring their own modules."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import sys

_loaded: set[str] = set()  # modules that were imported for Kiln, not before by someone else


class _OnPath:
    """Puts a folder first on sys.path while a module of it is looked for."""

    def __init__(self, folder: str):
        self.folder = folder

    def __enter__(self):
        if self.folder:
            sys.path.insert(0, self.folder)

    def __exit__(self, *_):
        if self.folder in sys.path:
            sys.path.remove(self.folder)


def import_backend(module: str, folder: str) -> None:
    """Imports a backend; one that was loaded before runs again, with the modules below it. One that fails leaves none of them behind."""
    if module in sys.modules and module not in _loaded:
        return  # imported by the program: it has registered what it registers
    before = _take_out(module)
    with _OnPath(folder):
        importlib.invalidate_caches()  # it may have been written a moment ago
        try:
            importlib.import_module(module)
        except BaseException:
            _take_out(module)
            sys.modules.update(before)
            raise
    _loaded.add(module)


def _take_out(module: str) -> dict[str, object]:
    """Takes the module and those below it out of sys.modules."""
    names = [name for name in list(sys.modules) if name == module or name.startswith(module + ".")]
    return {name: sys.modules.pop(name) for name in names}


def can_import(module: str, folder: str) -> bool:
    """Whether the module's package is there; only that is looked for, since looking further would import it."""
    with _OnPath(folder):
        try:
            return importlib.util.find_spec(module.partition(".")[0]) is not None
        except (ImportError, ValueError):
            return False


def manifests() -> list[tuple[str, str, str]]:
    """(text, place, source) of the manifest that each entry point of the group `kiln.backends` brings."""
    from importlib.metadata import distributions

    points = set()
    for distribution in distributions():
        try:
            points.update((p.name, p.value) for p in distribution.entry_points if p.group == "kiln.backends")
        except Exception:  # the metadata of some package is broken; only a group of ours would be our concern
            continue
    return [tuple(_printable(field) for field in _manifest(*point)) for point in sorted(points)]


def _printable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


def _manifest(name: str, value: str) -> tuple[str, str, str]:
    source = f"entry point {name}"
    try:
        path = os.path.join(_folder(value.partition(":")[0].strip()), "manifest.json")
        with open(path, encoding="utf-8") as file:
            return file.read(), path, source
    except Exception as error:  # whatever a package does wrong is told, and leaves the other entry points alone
        return "", f"{source} = {value}: {error}", source


def _folder(module: str) -> str:
    """The folder of a package, or of the package that a module is in, found without importing any of it."""
    top, *rest = module.split(".")
    spec = importlib.util.find_spec(top)
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(f"there is no package {top!r}")
    for root in spec.submodule_search_locations:
        folder = os.path.join(root, *rest)
        if os.path.isdir(folder):
            return folder
        if os.path.isfile(folder + ".py"):
            return os.path.dirname(folder)
    raise ModuleNotFoundError(f"there is no module {module!r}")


def target_json(target: dict) -> str:
    """A target's dict as JSON."""
    return json.dumps(_plain(target))


def _plain(value):
    if isinstance(value, (bool, int, float, str)) or value is None:
        return value
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "to_json") and hasattr(value, "kind"):
        return json.loads(value.to_json())
    raise TypeError(f"a target cannot hold a {type(value).__name__}")


def live_json(target) -> str | None:
    """A live target as JSON, from the attributes that every version of TVM's Target has; None when it has no kind."""
    tree = _live(target)
    return None if tree is None else json.dumps(tree)


def _live(target):
    name = getattr(getattr(target, "kind", None), "name", None)
    if not isinstance(name, str):
        return None
    attrs = getattr(target, "attrs", None) or {}
    tree = {str(key): _attribute(value) for key, value in attrs.items()}
    keys = getattr(target, "keys", None)
    tree["kind"] = str(name)
    tree["tag"] = str(getattr(target, "tag", None) or "")
    if keys is not None and not callable(keys):
        tree["keys"] = [str(key) for key in keys]
    host = getattr(target, "host", None)
    if host is not None:
        tree["host"] = _live(host)
    return tree


def _attribute(value):
    """An attribute's value; None, which is left out, for what no text form of a target has."""
    if isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, str):
        return str(value)
    try:
        return [str(item) for item in value]
    except TypeError:
        return None


def module_json(module) -> str:
    """A live IRModule as its saved JSON, or as TVMScript where saving would end the process."""
    import tvm_ffi

    version = tuple(int(part) for part in tvm_ffi.__version__.split(".")[:3] if part.isdigit())
    if version >= (0, 1, 15):  # with this tvm-ffi, TVM 0.27 crashes when it saves an expression
        return str(module.script())
    return str(tvm_ffi.get_global_func("ffi.ToJSONGraphString")(module, None))


def to_tvm_ffi(handle: int):
    """The tvm_ffi.Module of a module's handle."""
    import tvm_ffi

    return tvm_ffi.get_global_func("kiln.module_from_handle")(handle)
