"""Kiln: device code from lowered tile programs.

``kiln.device_codegen`` is the registry of device codegens; ``build`` goes the whole way from a module to device code::

    module = kiln.IRModule.load("gemm.json.gz")
    built = kiln.build(module, target="c")
    print(built.inspect_source())
    built["main_kernel"](a, b, c)
"""

from __future__ import annotations

import atexit as _atexit
import os as _os

from . import _hooks
from ._errors import KilnError

try:
    from . import _core
except ImportError as _error:
    if "libtvm_ffi" not in str(_error):
        raise
    import tvm_ffi as _tvm_ffi  # noqa: F401  it lies elsewhere; its import loads the library

    from . import _core

_core.set_hooks(
    error=KilnError,
    target_json=_hooks.target_json,
    live_json=_hooks.live_json,
    module_json=_hooks.module_json,
    to_tvm_ffi=_hooks.to_tvm_ffi,
    import_backend=_hooks.import_backend,
    can_import=_hooks.can_import,
    manifests=_hooks.manifests,
)
_atexit.register(_core.stop)

from ._core import IRModule, Module, Target  # noqa: E402

__version__ = "0.1.0"
__all__ = ["IRModule", "KilnError", "Module", "Target", "build", "device_codegen", "explain"]


def build(module, target=None, *, codegen: str | None = None, compile: bool = True) -> Module:
    """Verifies, resolves and lowers.

    ``module`` is an IRModule, a path of a module file, or a live IRModule of TileLang or TVM. ``target`` is whatever may stand for a target;
    without one the module's functions say theirs. ``codegen`` names one of the matching codegens; without it the first serves. With
    ``compile=False`` source is enough. Raises KilnError.
    """
    if isinstance(module, (str, _os.PathLike)):
        module = IRModule.load(_os.fspath(module))
    return _core.build(module, target, codegen, compile)


def explain(target) -> dict:
    """The whole decision for a target: ``target``; ``codegen``, the chosen one's name or None; ``candidates`` in registration order with
    ``name``, ``matches``, ``origin`` and ``reason``; ``backends`` of the kind with ``path``, ``origin``, ``source``, ``state`` and
    ``error``; manifests that were ``left_out``; ``error``, what a resolution fails with, or None."""
    return _core.explain(target)


def __getattr__(name: str):
    if name == "device_codegen":  # at its first use: the command does without
        import importlib

        return importlib.import_module("kiln.device_codegen")
    raise AttributeError(f"module 'kiln' has no attribute {name!r}")
