"""The simulator: what compiling and running a kernel takes, plain and checked, and all CUDA cases from an empty and a warm cache.

    python bench/sim_bench.py [KILN] [FOLDER...] [--repeats 15]

KILN is the command, build/bench/kiln by default; FOLDER holds cases, by default every folder cuda_* of tests/corpus. Times of single kernels
are the least of the repeats, on one core; the totals use all cores.
"""
import argparse
import glob
import json
import os
import statistics
import struct
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
COMPILED = ("cuda_sm75/flash_attn_fwd", "cuda_sm80/flash_attn_causal", "cuda_sm80/gemm_f16_f32", "cuda_sm80/softmax_f32", "cuda_sm80/reduce_all_f32",
            "cuda_sm90a/flash_attn_causal", "cuda_sm90a/gemm_f16_f32")
SIZE = 256

# C = A * B of SIZE x SIZE by 128 x 128 x 32 tiles in 128 threads: cp.async into two buffers, ldmatrix, mma. Rows of shared memory have 8
# elements more than they need, against bank conflicts.
GEMM = """
@I.ir_module
class Module:
    @T.prim_func
    def gemm(A: T.handle("float16", "global"), B: T.handle("float16", "global"), C: T.handle("float16", "global")):
        T.func_attr({{"target": T.target({{"kind": "cuda", "keys": ["cuda", "gpu"], "arch": "sm_80"}}), "tirx.noalias": True, "tirx.is_global_func": True,
                     "calling_conv": 2, "global_symbol": "gemm", "tirx.kernel_launch_params": ["blockIdx.x", "blockIdx.y", "threadIdx.x"]}})
        A_1 = T.decl_buffer(({elements},), "float16", data=A)
        B_1 = T.decl_buffer(({elements},), "float16", data=B)
        C_1 = T.decl_buffer(({elements},), "float16", data=C)
        bx = T.launch_thread("blockIdx.x", {tiles})
        by = T.launch_thread("blockIdx.y", {tiles})
        tx = T.launch_thread("threadIdx.x", 128)
        a = T.alloc_buffer((10240,), "float16", scope="shared")
        b = T.alloc_buffer((8704,), "float16", scope="shared")
        c = T.alloc_buffer((128,), "float32", scope="local")
        x = T.alloc_buffer((32,), "float16", scope="local")
        y = T.alloc_buffer((32,), "float16", scope="local")
        for i in range(128):
            c[i] = T.float32(0)
        for k in range({steps} + 1):
            if k < {steps}:
                for i in T.unroll(4):
                    T.call_intrin("float16", "tl.ptx_cp_async", T.address_of(a[k % 2 * 5120 + (tx // 4 + i * 32) * 40 + tx % 4 * 8]), T.address_of(A_1[(by * 128 + tx // 4 + i * 32) * {n} + k * 32 + tx % 4 * 8]), 8)
                for i in T.unroll(4):
                    T.call_intrin("float16", "tl.ptx_cp_async", T.address_of(b[k % 2 * 4352 + (tx // 16 + i * 8) * 136 + tx % 16 * 8]), T.address_of(B_1[(k * 32 + tx // 16 + i * 8) * {n} + bx * 128 + tx % 16 * 8]), 8)
            T.ptx_commit_group()
            if k > 0:
                T.ptx_wait_group(1)
                T.tvm_storage_sync("shared")
                for ki in range(2):
                    for i in T.unroll(4):
                        T.call_intrin("handle", "tl.ptx_ldmatrix", T.bool(False), 4, T.address_of(a[(k + 1) % 2 * 5120 + (tx // 32 % 2 * 64 + i * 16 + tx % 16) * 40 + ki * 16 + tx % 32 // 16 * 8]), T.address_of(x[i * 8]))
                    for i in T.unroll(4):
                        T.call_intrin("handle", "tl.ptx_ldmatrix", T.bool(True), 4, T.address_of(b[(k + 1) % 2 * 4352 + (ki * 16 + tx % 16) * 136 + tx // 64 * 64 + i * 16 + tx % 32 // 16 * 8]), T.address_of(y[i * 8]))
                    for i in range(4):
                        for j in range(8):
                            T.ptx_mma("float32", "m16n8k16", "row", "col", "fp16", "fp16", "fp32", x.data, i * 8, y.data, j * 4, c.data, i * 32 + j * 4, T.bool(False))
                T.tvm_storage_sync("shared")
        for i in range(4):
            for j in range(8):
                for e in range(4):
                    C_1[(by * 128 + tx // 32 % 2 * 64 + i * 16 + e // 2 * 8 + tx % 32 // 4) * {n} + bx * 128 + tx // 64 * 64 + j * 8 + tx % 4 * 2 + e % 2] = T.Cast("float16", c[i * 32 + j * 4 + e])
"""


def write_npy(path, rows):
    """A float16 array in numpy's format."""
    header = f"{{'descr': '<f2', 'fortran_order': False, 'shape': ({len(rows)}, {len(rows[0])}), }}"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        for row in rows:
            f.write(struct.pack(f"<{len(row)}e", *row))


def write_gemm(folder, n):
    """The case of the GEMM. b has two elements in each column, so that the product is known without computing much."""
    a = [[(3 * i + 5 * j) % 11 - 5 for j in range(n)] for i in range(n)]
    b = [[0] * n for _ in range(n)]
    for j in range(n):
        b[7 * j % n][j] += 1
        b[(31 * j + 5) % n][j] += 2
    c = [[a[i][7 * j % n] + 2 * a[i][(31 * j + 5) % n] for j in range(n)] for i in range(n)]
    for name, rows in (("A", a), ("B", b), ("C", c)):
        write_npy(os.path.join(folder, name + ".npy"), rows)
    tensor = lambda name: {"kind": "tensor", "name": name, "dtype": "float16", "npy_dtype": "float16", "shape": [n, n]}
    case = {"format": 1, "name": "gemm", "family": "cuda", "target_key": "cuda_sm80", "target": "cuda -arch=sm_80", "device_module": "gemm.py", "outputs": ["C"],
            "params": [{**tensor("A"), "role": "in", "input": "A.npy"}, {**tensor("B"), "role": "in", "input": "B.npy"},
                       {**tensor("C"), "role": "out", "expected": "C.npy", "tolerance": {"rtol": 0, "atol": 0}}],
            "launches": [{"kernel": "gemm", "grid": [n // 128, n // 128, 1], "block": [128, 1, 1], "smem": 0,
                          "args": [{"kind": "tensor", "param": p, "tensor": p} for p in "ABC"]}]}
    with open(os.path.join(folder, "case.json"), "w") as f:
        json.dump(case, f)
    with open(os.path.join(folder, "gemm.py"), "w") as f:
        f.write(GEMM.format(n=n, elements=n * n, tiles=n // 128, steps=n // 32))


def run(kiln, cases, cache="off", *flags, cores=None):
    """What `kiln run --json` says of each case."""
    command = [kiln, "run", *cases, "--device", "sim", "--json", *flags]
    pinned = ["taskset", "-c", cores] if cores else []
    done = subprocess.run(pinned + command, capture_output=True, text=True, env={**os.environ, "KILN_CACHE_DIR": cache})
    outcomes = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"case"')]
    failed = [o for o in outcomes if not o["passed"]]
    if failed or not outcomes:
        sys.exit(f"{failed[0]['case']}: {failed[0]['reason']}" if failed else done.stderr)
    return outcomes


def checked_run(kiln, case, repeats):
    """Milliseconds of one checked launch with its inputs and outputs: what further schedules add to a process, the least of five."""
    with tempfile.TemporaryDirectory() as cache:
        def seconds(schedules):
            start = time.perf_counter()
            run(kiln, [case], cache, "--check", "--schedules", str(schedules), cores="0")
            return time.perf_counter() - start
        seconds(1)
        return 1e3 * (min(seconds(repeats + 1) for _ in range(5)) - min(seconds(1) for _ in range(5))) / repeats


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("kiln", nargs="?", default=os.path.join(ROOT, "build/bench/kiln"))
    p.add_argument("folders", nargs="*", default=[])
    p.add_argument("--repeats", type=int, default=15)
    args = p.parse_args()
    folders = args.folders or sorted(glob.glob(os.path.join(ROOT, "tests/corpus/*/cuda_sm*")))

    with tempfile.TemporaryDirectory() as gemm:
        write_gemm(gemm, SIZE)
        plain = run(args.kiln, [gemm], "off", "--repeat", str(4 * args.repeats), cores="0")[0]["times"]
        checked = checked_run(args.kiln, gemm, args.repeats)
        print(f"{SIZE}^3 GEMM, 128x128x32 tiles, mma, one core: plain {plain['median']:.2f} ms, checked {checked:.2f} ms")

        cases = {name: os.path.join(ROOT, "tests/corpus/corpus", name) for name in COMPILED} | {f"{SIZE}^3 GEMM": gemm}
        print(f"{'print, compile and load':32} {'ms':>6}")
        for name, case in cases.items():
            print(f"{name:32} {min(run(args.kiln, [case], cores='0')[0]['times']['build'] for _ in range(args.repeats)):6.0f}")

    with tempfile.TemporaryDirectory() as cache:
        for state in ("empty", "warm"):
            start = time.perf_counter()
            outcomes = run(args.kiln, folders, cache)
            total = time.perf_counter() - start
            built = sorted(o["times"]["build"] for o in outcomes if "build" in o["times"])
            print(f"{len(outcomes)} cases, {state} cache: {total:.1f} s; build median {statistics.median(built):.0f} ms, "
                  f"nine of ten under {built[len(built) * 9 // 10]:.0f} ms, most {built[-1]:.0f} ms")


if __name__ == "__main__":
    main()
