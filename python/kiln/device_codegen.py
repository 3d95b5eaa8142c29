"""The registry of device codegens: which code generator serves a target.

A target is a ``kiln.Target``, a string ("cuda -arch=sm_90a"), a dict ({"kind": "cuda", "arch": "sm_90a"}), or a live ``tvm.target.Target``
of TileLang or Apache TVM. C++, other languages and the ``kiln`` command in the same process see what is registered here, and the reverse.
Errors are ``kiln.KilnError``, a ``ValueError``; what a callback raises passes to the caller as it is and leaves the registry intact.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from . import _core
from ._errors import KilnError
from . import IRModule, Target

__all__ = [
    "DeviceCodegenFunc",
    "TargetPredicate",
    "DeviceCodegen",
    "global_func_device_codegen",
    "register_device_codegen",
    "register_lazy_device_codegen",
    "allowed_device_codegens_for_target",
    "resolve_device_codegen",
]

DeviceCodegenFunc = Callable[[Any, Any], Any]
"""``(IRModule, Target) -> Module``: lowers a device IRModule to a module with the device code.

Called by ``DeviceCodegen.lower`` it gets what that got; called by C++ it gets a ``kiln.IRModule`` and a ``kiln.Target`` and returns a
``kiln.Module`` or a ``tvm_ffi.Module``."""

TargetPredicate = Callable[[Any], bool]
"""``(Target) -> bool``. Gets the object that was asked about; a ``kiln.Target`` when C++ asks."""


def global_func_device_codegen(global_func_name: str) -> DeviceCodegenFunc:
    """A device codegen that looks the tvm-ffi global function up each time it is called, and calls it with the module and target.

    A missing function is a KilnError that names it.
    """
    _check(global_func_name, str, "global_func_name")

    def build(mod, target):
        if isinstance(mod, IRModule):
            return _core.call_global(global_func_name, mod, target)
        import tvm_ffi

        function = tvm_ffi.get_global_func(global_func_name, allow_missing=True)
        if function is None:
            raise KilnError(
                f"global function '{global_func_name}' is not registered", "no_codegen", "", "load the library that registers it first"
            )
        return function(mod, target)

    return build


@dataclass(frozen=True, **({"slots": True} if sys.version_info >= (3, 10) else {}))
class DeviceCodegen:
    """Entry points of one backend variant; all but the name may be absent."""

    name: str
    build: DeviceCodegenFunc | None = None
    build_without_compile: DeviceCodegenFunc | None = None
    supports_target: TargetPredicate | None = None

    def matches(self, target: Target) -> bool:
        """Without a predicate True; else what the predicate says."""
        return self.supports_target is None or bool(self.supports_target(target))

    def lower(self, mod: IRModule, target: Target, *, compile_device: bool) -> Any:
        """Calls ``build`` when ``compile_device``, else ``build_without_compile``, and returns what that returns.

        Raises KilnError of code "unsupported" when that one is absent.
        """
        function = self.build if compile_device else self.build_without_compile
        if function is not None:
            return function(mod, target)
        kind = (target if isinstance(target, Target) else Target(target)).kind.name
        mode = "with" if compile_device else "without"
        raise KilnError(f"device codegen '{self.name}' for target '{kind}' does not support lowering {mode} compilation", "unsupported")


_core.set_hooks(record=DeviceCodegen)


def register_device_codegen(target_kind: str, codegen: DeviceCodegen, *, override: bool = False) -> DeviceCodegen:
    """Appends to the kind's list and returns ``codegen``.

    A name that the kind already has is an error, unless ``override``, which removes the old entry and appends the new one.
    """
    _check(target_kind, str, "target_kind")
    _check(codegen, DeviceCodegen, "codegen")
    _check(codegen.name, str, "codegen.name")
    for name in ("build", "build_without_compile", "supports_target"):
        function = getattr(codegen, name)
        if function is not None and not callable(function):
            raise TypeError(f"codegen.{name} must be callable or None, got {type(function).__name__}")
    _core.register(target_kind, codegen, bool(override))
    return codegen


def register_lazy_device_codegen(target_kind: str, import_path: str) -> None:
    """Loads that backend the first time its kind is used, once; registering the same path again lets it load again.

    ``import_path`` is a Python module ("package.module"), a shared library (a path), or the name of a backend with a manifest. A load that
    fails is a KilnError at that use, with the path and the cause (an exception of the module is its ``__cause__``); it leaves the registry
    as it was and is tried again at the next use.
    """
    _check(target_kind, str, "target_kind")
    _check(import_path, str, "import_path")
    _core.register_lazy(target_kind, import_path)


def allowed_device_codegens_for_target(target: Target) -> list[str]:
    """Names of the matching entries in registration order; lazy ones are loaded first."""
    return _core.allowed(target)


def resolve_device_codegen(target: Target) -> DeviceCodegen:
    """The first matching entry; lazy ones are loaded first. None: KilnError of code "no_codegen", with the available names.

    What Python registered comes back as the same object. An entry of C++ comes as a record whose functions call the C++ ones, always the
    same one.
    """
    return _core.resolve(target)


def _check(value, wanted: type, name: str) -> None:
    if not isinstance(value, wanted):
        raise TypeError(f"{name} must be a {wanted.__name__}, got {type(value).__name__}")
