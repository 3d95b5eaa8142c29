"""Device codegen `pyc`: hands the module to the codegen of target `c`, and logs what it builds."""

from __future__ import annotations

import time

import kiln
from kiln.device_codegen import DeviceCodegen, register_device_codegen, resolve_device_codegen

_C = kiln.Target("c")


def _lower(mod: kiln.IRModule, target: kiln.Target, *, compile_device: bool) -> kiln.Module:
    start = time.perf_counter()
    module = resolve_device_codegen(_C).lower(mod, _C, compile_device=compile_device)
    took = (time.perf_counter() - start) * 1e3
    with open(target.attrs["log"], "a", encoding="utf-8") as log:
        log.write(f"{', '.join(module.functions)}: {took:.1f} ms\n")
    return module


register_device_codegen(
    "pyc",
    DeviceCodegen(
        name="pyc",
        build=lambda mod, target: _lower(mod, target, compile_device=True),
        build_without_compile=lambda mod, target: _lower(mod, target, compile_device=False),
        supports_target=lambda target: "log" in target.attrs,
    ),
)
