"""Resolve latency from Python, beside TileLang's own registry in the same process.

    python bench/registry_python_bench.py [LIBKILN]

Measures what the interpreter can import: the package kiln (kiln.device_codegen), TileLang 0.1.15 and its live targets, and with LIBKILN,
the path of libkiln.so, the same call as a tvm-ffi function without the package. Medians of repeated runs; ratios are to TileLang's call.
"""
import statistics
import sys
import time

ENTRIES = 50
CALLS = 20000
REPEATS = 11
TARGET = "cuda -arch=sm_80"


def microseconds(call, *args):
    """Median time of one call."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        for _ in range(CALLS):
            call(*args)
        times.append((time.perf_counter() - start) / CALLS * 1e6)
    return statistics.median(times)


def imported(name):
    try:
        return __import__(name, fromlist=["_"])
    except ImportError:
        return None


def live_target():
    """A tvm.target.Target, or None; importing tilelang makes its own tvm importable."""
    module = imported("tilelang") and imported("tvm.target") or imported("tvm.target")
    return module and module.Target({"kind": "cuda", "arch": "sm_80"})


def tilelang_rows(live):
    module = imported("tilelang.backend.module")
    if not module:
        return
    resolve = module._resolve_backend_module
    entries = len(module._list_backend_modules_for_target_kind("cuda"))

    def resolve_and_look_up(target):
        return resolve(target).get_device_codegen(target)

    yield f"TileLang: resolve and look up, {entries} modules", microseconds(resolve_and_look_up, live)


def package_rows(live):
    kiln = imported("kiln")
    registry = kiln and imported("kiln.device_codegen")
    if not registry:
        return
    # The kind's first entry answers; then the last of ENTRIES, after so many predicates written in Python said no.
    for kind, accepts in (("kiln_bench_first", True), ("kiln_bench_last", False)):
        for i in range(ENTRIES):
            last = i == ENTRIES - 1
            predicate = None if accepts or last else lambda target: False
            registry.register_device_codegen(kind, registry.DeviceCodegen(str(i), supports_target=predicate))
    for i in range(ENTRIES):
        registry.register_device_codegen("cuda", registry.DeviceCodegen(f"bench{i}"))
    resolve = registry.resolve_device_codegen
    yield f"kiln.device_codegen: kiln.Target, {ENTRIES} entries", microseconds(resolve, kiln.Target(TARGET))
    yield f"kiln.device_codegen: text, {ENTRIES} entries", microseconds(resolve, TARGET)
    if live is not None:
        yield f"kiln.device_codegen: live target, {ENTRIES} entries", microseconds(resolve, live)
    yield f"kiln.device_codegen: {ENTRIES - 1} Python predicates say no", microseconds(resolve, kiln.Target("kiln_bench_last"))


def function_rows(path):
    tvm_ffi = imported("tvm_ffi")
    if not tvm_ffi or not path:
        return
    tvm_ffi.load_module(path).kiln_init()
    get = tvm_ffi.get_global_func
    for i in range(ENTRIES):
        get("kiln.register_device_codegen")("kiln_bench_ffi", str(i), None, None, None, False)
    resolve = get("kiln.resolve_device_codegen")
    yield f"tvm-ffi function: parsed target, {ENTRIES} entries", microseconds(resolve, get("kiln.parse_target")("kiln_bench_ffi"))
    yield f"tvm-ffi function: text, {ENTRIES} entries", microseconds(resolve, "kiln_bench_ffi")


def main():
    live = live_target()
    path = sys.argv[1] if len(sys.argv) > 1 else None
    rows = [*tilelang_rows(live), *package_rows(live), *function_rows(path)]
    if not rows:
        print("left out: neither kiln nor TileLang is importable")
        sys.exit(77)
    peer = rows[0][1] if rows and rows[0][0].startswith("TileLang") else None
    if not peer:
        print("no ratios: TileLang is not importable")
    print(f"{'call':56} {'us':>8} {'TileLang / this':>16}")
    for name, time_us in rows:
        ratio = f"{peer / time_us:15.1f}x" if peer else ""
        print(f"{name:56} {time_us:8.3f} {ratio:>16}")


if __name__ == "__main__":
    main()
