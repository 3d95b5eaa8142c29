"""Import and print against TVM's own, on the same modules in the same run.

    python bench/peer_bench.py [KILN_BENCH]

KILN_BENCH is the program of Kiln's own benchmarks, build/bench/bench/kiln_bench by default. Run it with a Python that has apache-tvm 0.27;
prints medians and the ratio TVM / Kiln.
"""
import gzip
import json
import os
import statistics
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MODULES = ("corpus_tvm/llvm/casts", "corpus_tvm/llvm/math_basic", "corpus_tvm/cuda_sm80/row_softmax")


def median_ms(work, repeats=20):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)


def kiln_ms(bench):
    """Median real time in ms by benchmark name, without the size at its end."""
    out = subprocess.run([bench, "--benchmark_filter=(import|print)/corpus_tvm", "--benchmark_repetitions=5", "--benchmark_format=json"],
                         capture_output=True, check=True).stdout
    rows = json.loads(out)["benchmarks"]
    return {r["run_name"].rsplit("/", 1)[0]: r["real_time"] / 1e6 for r in rows if r.get("aggregate_name") == "median"}


def main():
    try:
        import tvm
    except ImportError as e:
        print(f"left out: no Apache TVM to compare with ({e})")
        sys.exit(77)

    bench = sys.argv[1] if len(sys.argv) > 1 else os.path.join(ROOT, "build/bench/bench/kiln_bench")
    if not os.path.exists(bench):
        print(f"left out: there is no {bench}; ./dev bench builds it")
        sys.exit(77)
    ours = kiln_ms(bench)
    print(f"{'module':34} {'kB':>5} {'step':7} {'TVM ms':>9} {'Kiln ms':>9} {'ratio':>7}")
    for name in MODULES:
        with gzip.open(os.path.join(ROOT, "tests/corpus", name, "device.json.gz")) as f:
            text = f.read().decode()
        module = tvm.ir.load_json(text)
        for step, work in (("import", lambda: tvm.ir.load_json(text)), ("print", module.script)):
            theirs, mine = median_ms(work), ours[f"{step}/{name}"]
            print(f"{name:34} {len(text) // 1024:5} {step:7} {theirs:9.3f} {mine:9.3f} {theirs / mine:6.0f}x")


if __name__ == "__main__":
    main()
