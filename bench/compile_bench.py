"""Module file to cubin against TileLang's ways to the same, in one run.

    python bench/compile_bench.py KILN_BENCH REFERENCES TEMPLATES CUTLASS [--only REGEX] [--repeats N] [--jobs N]

KILN_BENCH is the program of Kiln's own benchmarks (build/bench/bench/kiln_bench). REFERENCES has a folder for each of cuda_sm80 and cuda_sm90a with
TileLang's own text of each module of tests/corpus/corpus/<folder>, <name>.cu. TEMPLATES and CUTLASS are the include folders that this text
needs (tilelang/src and tilelang/3rdparty/cutlass/include). For each kernel the four ways take turns, so that a change of the machine's load
meets all; a row has the medians in ms:

    nvcc    nvcc -cubin -O3 with the templates, in a process, as TileLang compiles
    nvrtc   NVRTC with the templates, loaded before
    pch     the same with a precompiled header that exists
    kiln    the module file to code in a process, NVRTC loaded before, caches off

and below are the geometric means of their ratios to kiln's time. With --jobs, that many kernels are measured at a time, each by a process that
keeps to a core of its own (of the first N that this one may use): the ratios stay those of one run, if the machine has cores to spare.
"""
import argparse
import concurrent.futures
import ctypes
import json
import math
import multiprocessing
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

CORPUS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tests/corpus/corpus")
WAYS = ("nvcc", "nvrtc", "pch")


def timed(work):
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1e3


def run(command):
    done = subprocess.run(command, capture_output=True, env=dict(os.environ, CUDA_CACHE_DISABLE="1"))
    if done.returncode:
        raise RuntimeError(done.stderr.decode(errors="replace").strip()[-300:])
    return done.stdout


def kiln_ms(bench, name):
    row = json.loads(run([bench, f"--benchmark_filter=^cubin/{name}/iterations:1$", "--benchmark_format=json"]))["benchmarks"][0]
    if row.get("error_occurred"):
        raise RuntimeError(row["error_message"])
    return row["real_time"] / 1e6


class Nvrtc:
    """NVRTC of the toolkit, called in this process."""

    def __init__(self, root):
        folder = os.path.join(root, "lib64")
        found = sorted(n for n in os.listdir(folder) if re.fullmatch(r"libnvrtc\.so\.\d+", n))
        self.library = ctypes.CDLL(os.path.join(folder, found[-1]))

    def compile(self, text, options):
        program = ctypes.c_void_p()
        self.library.nvrtcCreateProgram(ctypes.byref(program), text, b"kernel.cu", 0, None, None)
        encoded = [o.encode() for o in options]
        status = self.library.nvrtcCompileProgram(program, len(encoded), (ctypes.c_char_p * len(encoded))(*encoded))
        message = ""
        if status:
            size = ctypes.c_size_t()
            self.library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
            log = ctypes.create_string_buffer(size.value)
            self.library.nvrtcGetProgramLog(program, log)
            message = "\n".join(m for m in log.value.decode(errors="replace").splitlines() if "error" in m)[:300]
        self.library.nvrtcDestroyProgram(ctypes.byref(program))
        if status:
            raise RuntimeError(message)


def ways(args, nvrtc, folder, name, scratch):
    """What gives the time in ms of each column."""
    source = os.path.join(args.references, folder, name + ".cu")
    with open(source, "rb") as f:
        text = b"#include <tl_templates/cuda/nvrtc_std.h>\n" + f.read()  # what TileLang hands to NVRTC
    arch = folder.replace("cuda_sm", "sm_")
    includes = [f"-I{args.templates}", f"-I{args.cutlass}"]
    options = [f"--gpu-architecture={arch}", "-default-device", "--no-cache", "-D__CUDACC_VER_MAJOR__=13", *includes,
               f"-I{os.path.join(args.cuda, 'include')}", f"-I{os.path.join(args.cuda, 'include/cccl')}"]
    pch = options + ["-pch", f"--pch-dir={scratch}"]
    output = os.path.join(scratch, "out.cubin")
    nvcc = [os.path.join(args.cuda, "bin/nvcc"), "-cubin", "-O3", "-std=c++20", f"-arch={arch}", "-w", *includes, source, "-o", output]
    return {
        "nvcc": lambda: timed(lambda: run(nvcc)),
        "nvrtc": lambda: timed(lambda: nvrtc.compile(text, options)),
        "pch": lambda: timed(lambda: nvrtc.compile(text, pch)),
        "kiln": lambda: kiln_ms(args.kiln_bench, f"{folder}/{name}"),
    }


def measure(args, folder, name):
    """Median ms by way; NaN for one that fails."""
    nvrtc, scratch = Nvrtc(args.cuda), tempfile.mkdtemp()
    try:
        work = ways(args, nvrtc, folder, name, scratch)
        times = {way: [] for way in work}
        for way in ("nvrtc", "pch"):  # the library loaded, the precompiled header made
            try:
                work[way]()
            except RuntimeError as e:
                print(f"# {folder}/{name}: {way}: {e}", file=sys.stderr)
                times.pop(way)
        for _ in range(args.repeats):
            for way in list(times):
                try:
                    times[way].append(work[way]())
                except RuntimeError as e:
                    print(f"# {folder}/{name}: {way}: {e}", file=sys.stderr)
                    times.pop(way)
        return {way: statistics.median(times[way]) if way in times else math.nan for way in work}
    finally:
        shutil.rmtree(scratch)


def keep_to_a_core(cores):
    os.sched_setaffinity(0, {cores.get()})


def selected(args):
    """(folder, name) of each module that both sides have."""
    for folder in ("cuda_sm80", "cuda_sm90a"):
        for file in sorted(os.listdir(os.path.join(args.references, folder))):
            name = file.removesuffix(".cu")
            if re.search(args.only, f"{folder}/{name}") and os.path.isdir(os.path.join(CORPUS, folder, name)):
                yield folder, name


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("kiln_bench", "references", "templates", "cutlass"):
        parser.add_argument(name)
    parser.add_argument("--cuda", default=os.environ.get("CUDA_HOME", "/usr/local/cuda"))
    parser.add_argument("--only", default="")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1, help="at most as many as the machine has cores (1)")
    if len(sys.argv) == 1:
        print("left out: no texts of TileLang to compare with (--help says which)")
        sys.exit(77)
    args = parser.parse_args()
    needed = (args.kiln_bench, args.references, args.templates, args.cutlass, os.path.join(args.cuda, "bin/nvcc"), os.path.join(args.cuda, "lib64"))
    absent = [path for path in needed if not os.path.exists(path)]
    if absent:
        print(f"left out: there is no {', '.join(absent)}")
        sys.exit(77)

    ratios = {way: [] for way in WAYS}
    print(f"{'kernel':44} {'nvcc':>8} {'nvrtc':>8} {'pch':>8} {'kiln':>8}   ratios to kiln", flush=True)
    cores = multiprocessing.Queue()
    for core in sorted(os.sched_getaffinity(0))[: args.jobs]:
        cores.put(core)
    with concurrent.futures.ProcessPoolExecutor(args.jobs, initializer=keep_to_a_core, initargs=(cores,)) as pool:
        rows = [(folder, name, pool.submit(measure, args, folder, name)) for folder, name in selected(args)]
        for folder, name, ready in rows:
            ms = ready.result()
            row = {way: ms[way] / ms["kiln"] for way in WAYS}
            for way in WAYS:
                if math.isfinite(row[way]):
                    ratios[way].append(row[way])
            print(f"{folder + '/' + name:44} " + " ".join(f"{ms[w]:8.1f}" for w in (*WAYS, "kiln")) + "  " +
                  " ".join(f"{row[w]:6.1f}x" for w in WAYS), flush=True)
    for way in WAYS:
        if ratios[way]:
            mean = math.exp(statistics.fmean(map(math.log, ratios[way])))
            print(f"{way:6} {mean:6.2f}x kiln, geometric mean of {len(ratios[way])}, least {min(ratios[way]):.2f}x")


if __name__ == "__main__":
    main()
