"""Times Kiln's kernels against TileLang's on a GPU, and against what torch calls for the same work.

    python bench/kernel_bench.py [FOLDER] [--json FILE] [--only REGEX] [--rounds 3] [--repeats 30]

FOLDER, build/kernel_cases by default, is made by kernel_cases.py. Both kernels get the same grid, block, shared memory and arguments; launches alternate, one after a flush
of the level 2 cache, and are timed by CUDA events. A number is the median of the rounds' medians. Outputs are compared with each other (bit
for bit, or the largest difference) and with torch's answer. Needs torch and libcuda.
"""
import argparse
import ctypes
import json
import math
import os
import re
import statistics
import sys

try:
    import torch
    import torch.nn.functional as F

    cuda = ctypes.CDLL("libcuda.so.1")
except (ImportError, OSError) as e:
    print(f"left out: no torch or no GPU ({e})")
    sys.exit(77)

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DTYPES = {"float16": torch.float16, "bfloat16": torch.bfloat16, "float32": torch.float32, "int8": torch.int8, "uint8": torch.uint8,
          "int32": torch.int32, "float8_e4m3": torch.float8_e4m3fn}


def check(code, what):
    if code:
        text = ctypes.c_char_p()
        cuda.cuGetErrorString(code, ctypes.byref(text))
        raise RuntimeError(f"{what}: {(text.value or b'').decode()} ({code})")


def tensor_map(record, tensors):
    """A CUtensorMap: 128 bytes at a multiple of 64. The buffer is returned too: it must outlive the launches."""
    buffer = ctypes.create_string_buffer(192)
    address = (ctypes.addressof(buffer) + 63) & ~63
    words = lambda kind, values: (kind * max(1, len(values)))(*values)
    check(cuda.cuTensorMapEncodeTiled(
        ctypes.c_void_p(address), record["dtype"], len(record["size"]), ctypes.c_void_p(tensors[record["tensor"]].data_ptr()),
        words(ctypes.c_uint64, record["size"]), words(ctypes.c_uint64, record["stride"]), words(ctypes.c_uint32, record["box"]),
        words(ctypes.c_uint32, record["step"]), record["interleave"], record["swizzle"], record["promotion"], record["fill"]), "tensor map")
    return buffer, address


class Kernel:
    """A kernel of a cubin with its arguments, ready to launch on torch's stream."""

    def __init__(self, path, case, tensors):
        module, self.function = ctypes.c_void_p(), ctypes.c_void_p()
        with open(path, "rb") as f:
            check(cuda.cuModuleLoadData(ctypes.byref(module), f.read() + b"\0"), f"load {path}")
        check(cuda.cuModuleGetFunction(ctypes.byref(self.function), module, case["kernel"].encode()), f"kernel {case['kernel']} of {path}")
        if case["shared"]:  # 8: CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            check(cuda.cuFuncSetAttribute(self.function, 8, case["shared"]), "shared memory")
        self.hold, addresses = [], []
        for a in case["arguments"]:
            if "map" in a:
                buffer, address = tensor_map(a["map"], tensors)
            else:
                buffer = ctypes.c_uint64(tensors[a["tensor"]].data_ptr())
                address = ctypes.addressof(buffer)
            self.hold.append(buffer)
            addresses.append(address)
        self.arguments = (ctypes.c_void_p * len(addresses))(*addresses)
        self.shape = [*case["grid"], *case["block"], case["shared"]]
        self.stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)

    def __call__(self):
        check(cuda.cuLaunchKernel(self.function, *self.shape, self.stream, self.arguments, None), "launch")


def random_tensor(record, generator):
    """Numbers for which sums over thousands of products keep to the range of the output's type."""
    dtype, shape = DTYPES[record["dtype"]], record["shape"]
    if dtype == torch.int8:
        return torch.randint(-8, 9, shape, dtype=dtype, device="cuda", generator=generator)
    if dtype == torch.uint8:
        return torch.randint(0, 256, shape, dtype=dtype, device="cuda", generator=generator)
    if dtype == torch.int32:
        return torch.zeros(shape, dtype=dtype, device="cuda")
    return torch.randn(shape, dtype=torch.float16 if dtype.itemsize < 4 else dtype, device="cuda", generator=generator).to(dtype)


def scaled(a, b):
    one = torch.ones((), device="cuda")
    return torch._scaled_mm(a, b.T, scale_a=one, scale_b=one, out_dtype=torch.float16)


def nibbles(q):
    return torch.stack([(q & 15), (q >> 4)], -1).flatten(1).to(torch.float16) - 8


def torch_work(case, t):
    """What torch (cuBLAS, cuDNN, its own kernels) calls for the same work: (its name, a function that does it), and the answer."""
    kind = case["check"]
    if kind == "gemm_nn":
        return "cuBLAS", lambda: t["A"] @ t["B"]
    if kind == "gemm_nt":
        return "cuBLAS", (lambda: torch._int_mm(t["A"], t["B"].T)) if t["A"].dtype == torch.int8 else (lambda: scaled(t["A"], t["B"]))
    if kind == "dequantised":  # the weights are unpacked before: cuBLAS has less to do
        w = nibbles(t["Q"]) * t["S"][:, None]
        return "cuBLAS on f16", lambda: t["A"] @ w.T
    if kind in ("attention", "causal"):
        from torch.nn.attention import SDPBackend, sdpa_kernel

        def attention():
            with sdpa_kernel([SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION], set_priority=True):
                return F.scaled_dot_product_attention(t["Q"], t["K"], t["V"], is_causal=kind == "causal")

        return "cuDNN", attention
    if kind == "rms_norm":
        return "torch", lambda: F.rms_norm(t["X"], t["W"].shape, t["W"], 1e-5)
    if kind == "layer_norm":  # torch wants one type; the answer is of the wider weights
        return "torch", lambda: F.layer_norm(t["X"], t["G"].shape, t["G"].half(), t["B"].half(), 1e-5)
    return "torch", {"softmax": lambda: torch.softmax(t["X"], -1), "transpose": lambda: t["A"].T.contiguous(), "add": lambda: t["A"] + t["B"]}[kind]


def difference(x, y):
    """Largest difference relative to the largest value; 0 only for equal bits, NaN where a number is not finite."""
    if torch.equal(x.view(torch.uint8), y.view(torch.uint8)):
        return 0.0
    x, y = x.double(), y.double()
    return ((x - y).abs().max() / y.abs().max().clamp(min=1e-30)).item()


def times_of(work, flush, repeats):
    """Milliseconds of each launch, by who: launches alternate so that clock and power are the same for all."""
    events = {who: [] for who in work}
    for _ in range(repeats):
        for who, launch in work.items():
            flush.zero_()
            start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            start.record()
            launch()
            stop.record()
            events[who].append((start, stop))
    torch.cuda.synchronize()
    return {who: statistics.median(a.elapsed_time(b) for a, b in pairs) for who, pairs in events.items()}


def measure(folder, a):
    with open(os.path.join(folder, "case.json")) as f:
        case = json.load(f)
    generator = torch.Generator("cuda").manual_seed(1)
    tensors = {r["name"]: random_tensor(r, generator) for r in case["tensors"]}
    out = tensors[case["tensors"][-1]["name"]]
    kernels = {who: Kernel(os.path.join(folder, file), case, tensors) for who, file in (("tilelang", "tilelang.cubin"), ("kiln", "kiln.cubin"))}
    vendor, vendor_work = torch_work(case, tensors)
    answer = vendor_work()
    results = {}
    for who, kernel in kernels.items():
        # What a kernel does not write shows as NaN (integers: -1); split-K adds to zeros.
        out.zero_() if case["name"].startswith("split_k") else out.view(torch.uint8).fill_(255)
        kernel()
        torch.cuda.synchronize()
        results[who] = out.clone()
    record = {"name": case["name"], "vendor": vendor, "same": difference(results["kiln"], results["tilelang"]),
              "error": {who: difference(r.to(answer.dtype), answer) for who, r in results.items()}}
    del results, answer
    flush = torch.empty(256 << 20, dtype=torch.int8, device="cuda")
    work = {**kernels, "vendor": vendor_work}
    times_of(work, flush, 5)
    rounds = [times_of(work, flush, a.repeats) for _ in range(a.rounds)]
    ms = {who: statistics.median(r[who] for r in rounds) for who in work}
    amount = (case["flops"] or case["bytes"] * 1e3) / 1e9  # TFLOP/s, or GB/s, is amount / ms
    record |= {"unit": "TFLOP/s" if case["flops"] else "GB/s", "ms": ms, "speed": {who: amount / t for who, t in ms.items()},
               "ratio": statistics.median(r["tilelang"] / r["kiln"] for r in rounds), "rounds": rounds}
    return record


def row(r):
    speed, error = r["speed"], r["error"]
    return (f"{r['name']:26} {speed['tilelang']:9.1f} {speed['kiln']:9.1f} {speed['vendor']:9.1f} {r['unit']:8} {r['ratio']:7.3f} {r['same']:9.1e} "
            f"{error['kiln']:9.1e} {error['tilelang']:9.1e}  {r['vendor']}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", default=os.path.join(ROOT, "build/kernel_cases"))
    parser.add_argument("--json", default="results.json")
    parser.add_argument("--resume", action="store_true", help="go on after the cases that the JSON file has")
    parser.add_argument("--only", default="")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=30)
    a = parser.parse_args()
    if not os.path.isdir(a.folder):
        print(f"left out: there is no folder {a.folder}; make it with bench/kernel_cases.py")
        sys.exit(77)
    torch.zeros(1, device="cuda")  # makes the context that the driver's calls use
    records = []
    if a.resume:
        with open(a.json) as f:
            records = json.load(f)
    else:
        print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}")
        print(f"{'kernel':26} {'TileLang':>9} {'Kiln':>9} {'vendor':>9} {'':8} {'Kiln/TL':>7} {'Kiln-TL':>9} {'Kiln-ref':>9} {'TL-ref':>9}  vendor")
    names = sorted(d for d in os.listdir(a.folder) if os.path.exists(os.path.join(a.folder, d, "case.json")) and re.search(a.only, d))
    for name in names[len(records):]:
        try:
            records.append(measure(os.path.join(a.folder, name), a))
            print(row(records[-1]), flush=True)
        except Exception as e:
            print(f"{name}: {type(e).__name__}: {str(e)[:300]}", flush=True)
            records.append({"name": name, "failed": str(e)[:1000]})
        with open(a.json, "w") as f:
            json.dump(records, f, indent=1)
        if "failed" in records[-1]:  # a fault leaves the context unusable: the rest in a new process
            os.execv(sys.executable, [sys.executable, *sys.argv, *([] if a.resume else ["--resume"])])
    ratios = [r["ratio"] for r in records if "ratio" in r]
    if ratios:
        print(f"geometric mean of Kiln / TileLang over {len(ratios)}: {math.exp(statistics.fmean(map(math.log, ratios))):.3f}, worst {min(ratios):.3f}")


if __name__ == "__main__":
    main()
