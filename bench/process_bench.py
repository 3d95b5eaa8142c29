"""Whole-process time and peak memory of `kiln build`, module file to text.

    python bench/process_bench.py [KILN]

KILN is the command, build/bench/kiln by default.
"""
import gzip
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
REPEATS = 50


def indented(path):
    """The module as TVM writes it, indented and unpacked: what a user's file looks like."""
    with gzip.open(path) as f:
        return json.dumps(json.loads(f.read()), indent=2).encode()


def measure(command):
    """Median and minimum of the wall time in ms."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times), min(times)


def peak_memory(command):
    """Peak resident memory in MB, as the command itself reports it."""
    if command[1] != "build":
        return 0.0
    return json.loads(subprocess.run([*command, "--json"], capture_output=True, check=True).stdout)["peak_memory_kb"] / 1024


def main():
    kiln = sys.argv[1] if len(sys.argv) > 1 else os.path.join(ROOT, "build/bench/kiln")
    if not os.path.exists(kiln):
        print(f"left out: there is no {kiln}; ./dev bench builds it")
        sys.exit(77)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, target in (("corpus/c/gemm_cpu_256", None), ("corpus/c/layernorm_cpu", None), ("corpus_tvm/c/matmul_symbolic", None)):
            path = os.path.join(folder, name.replace("/", "_") + ".json")
            with open(path, "wb") as f:
                f.write(indented(os.path.join(ROOT, "tests/corpus", name, "device.json.gz")))
            rows.append((name, os.path.getsize(path), [kiln, "build", path]))
        # The command with nothing to do, for the share of starting a process.
        rows.append(("kiln --version", 0, [kiln, "--version"]))
        print(f"{'module':32} {'JSON kB':>8} {'median ms':>10} {'min ms':>8} {'peak MB':>8}")
        for name, size, command in rows:
            median, least = measure(command)
            peak = peak_memory(command)
            print(f"{name:32} {size / 1e3:8.1f} {median:10.2f} {least:8.2f} {peak:8.1f}")


if __name__ == "__main__":
    main()
