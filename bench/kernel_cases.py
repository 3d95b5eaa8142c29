"""Makes the folder that kernel_bench.py times: for each program its launch, TileLang's kernel and Kiln's.

    python bench/kernel_cases.py FOLDER --kiln build/release/kiln [--only REGEX]

Needs an installed TileLang and nvcc. TileLang's text is compiled with the options that TileLang 0.1.15 gives to nvcc. Writes for each case
FOLDER/<name>/case.json and {tilelang,kiln}.cubin; the texts and modules that they were made from go to FOLDER/source/<name>/.
A case of another generation than the card's (sm_80) is compiled to PTX for its own and assembled for --card.
"""
import argparse
import gzip
import json
import os
import re
import subprocess
import sys

try:
    import tilelang
    from tilelang import tvm
    from tilelang.backend.module import create_backend_context
    from tilelang.engine.lower import _prepare_device_codegen_mod, lower_to_host_device_ir
    from tvm import tirx
    from tvm.tirx import stmt_functor

    import kernel_programs
except ImportError as e:
    print(f"left out: no TileLang to make the cases with ({e})")
    sys.exit(77)


def number(e, bound):
    """An integer of the host program (sizes here are all static), or the name of the tensor that a pointer is of."""
    while isinstance(e, tirx.Var) and isinstance(bound.get(e), (tirx.Var, tirx.IntImm)):
        e = bound[e]
    return int(e) if isinstance(e, (tirx.IntImm, int)) else e.name


def tensor_map(args, bound):
    """Arguments of cuTensorMapEncodeTiled as the host program gives them: lists of `rank` numbers, innermost dimension first."""
    values = [number(a, bound) for a in args]
    dtype, rank, base, *rest = values
    size, stride, box, step = (rest[i * rank : (i + 1) * rank] for i in range(4))
    interleave, swizzle, promotion, fill = rest[4 * rank :]
    return {"tensor": base, "dtype": dtype, "size": size, "stride": stride[1:], "box": box, "step": step,
            "interleave": interleave, "swizzle": swizzle, "promotion": promotion, "fill": fill}


def launch_of(host, device):
    """The one launch of a host program: kernel, grid, block, dynamic shared memory in bytes and arguments in the kernel's order."""
    (kernel,) = [f for f in device.functions.values() if isinstance(f, tirx.PrimFunc)]
    name = str(kernel.attrs["global_symbol"])
    bound, calls, maps = {}, [], {}

    def visit(n):
        if isinstance(n, tirx.Bind):
            bound[n.var] = n.value
        elif isinstance(n, tirx.Call) and n.args and isinstance(n.args[0], tirx.StringImm):
            calls.append((n.args[0].value, list(n.args[1:])))
        return True

    for f in host.functions.values():
        if isinstance(f, tirx.PrimFunc):
            stmt_functor.pre_order_visit(f.body, visit)
    for callee, args in calls:
        if callee == "__tvm_tensormap_create_tiled":
            maps[args[0].name] = tensor_map(args[1:], bound)
    (args,) = [a for callee, a in calls if callee == name]
    count = len(kernel.params)
    tags = dict(zip([str(t) for t in kernel.attrs["tirx.kernel_launch_params"]], [number(a, bound) for a in args[count:]]))
    arguments = []
    for a in args[:count]:
        arguments.append({"map": maps[a.name]} if a.name in maps else {"tensor": number(a, bound)})
    return {"kernel": name, "grid": [tags.get("blockIdx." + d, 1) for d in "xyz"], "block": [tags.get("threadIdx." + d, 1) for d in "xyz"],
            "shared": tags.get("tirx.use_dyn_shared_memory", 0), "arguments": arguments}


def lower(case):
    """The device module as a codegen receives it, the case's record, and TileLang's text."""
    target = tvm.target.Target({"kind": "cuda", "arch": case.arch})
    with tvm.transform.PassContext(opt_level=3, config=case.options), target:
        context = create_backend_context(target, None, "auto")
        host, device, *_ = lower_to_host_device_ir(case.program, context)
        device = _prepare_device_codegen_mod(device)
        text = context.codegen_device(device, compile_device=False).inspect_source()
    tensors = [case.program.buffer_map[p] for p in case.program.params]
    record = {"name": case.name, "arch": case.arch, "check": case.check, "flops": case.flops, "bytes": case.bytes,
              "tensors": [{"name": b.data.name, "dtype": str(b.dtype), "shape": [int(d) for d in b.shape]} for b in tensors]}
    return device, record | launch_of(host, device), text


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {(done.stdout + done.stderr)[-2000:]}")
    return done.stdout + done.stderr


def compile_both(case, source, out, a):
    """Cubins for the card of TileLang's text and of Kiln's, with what the assembler says of registers and spills."""
    root = os.path.dirname(tilelang.__file__)
    include = ["-I" + os.path.join(root, "src"), "-I" + os.path.join(root, "3rdparty/cutlass/include")]
    nvcc = [a.nvcc, "-O3", "-lineinfo", "-arch", case.arch, "-std=c++20", *include, "-Xptxas", "-v", f"{source}/tilelang.cu"]
    kiln = [a.kiln, "build", f"{source}/device.json.gz"]
    run([*kiln, "--emit", "source", "-o", f"{source}/kiln.cu"])
    run([*kiln, "--emit", "ptx", "-o", f"{source}/kiln.ptx"])
    assemble = [os.path.join(os.path.dirname(a.nvcc), "ptxas"), "-O3", "-v", "-arch", a.card if case.arch == "sm_80" else case.arch]
    log = {"kiln": run([*assemble, f"{source}/kiln.ptx", "-o", f"{out}/kiln.cubin"])}
    if case.arch == "sm_80":
        run([*nvcc, "--ptx", "-o", f"{source}/tilelang.ptx"])
        log["tilelang"] = run([*assemble, f"{source}/tilelang.ptx", "-o", f"{out}/tilelang.cubin"])
    else:
        log["tilelang"] = run([*nvcc, "--cubin", "-o", f"{out}/tilelang.cubin"])
        run([*kiln, "--emit", "cubin", "-o", f"{out}/kiln.cubin"])
    return log


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--kiln", required=True)
    parser.add_argument("--nvcc", default="/usr/local/cuda/bin/nvcc")
    parser.add_argument("--card", default="sm_90a")
    parser.add_argument("--only", default="")
    a = parser.parse_args()
    for case in kernel_programs.cases():
        if not re.search(a.only, case.name):
            continue
        source, out = os.path.join(a.folder, "source", case.name), os.path.join(a.folder, case.name)
        os.makedirs(source, exist_ok=True)
        os.makedirs(out, exist_ok=True)
        try:
            device, record, text = lower(case)
            with gzip.GzipFile(f"{source}/device.json.gz", "wb", mtime=0) as f:
                f.write(tvm.ir.save_json(device).encode())
            with open(f"{source}/tilelang.cu", "w") as f:
                f.write(text)
            log = compile_both(case, source, out, a)
        except Exception as e:  # one program that does not lower or compile leaves the others
            print(f"{case.name}: {type(e).__name__}: {e}", file=sys.stderr)
            continue
        with open(f"{out}/case.json", "w") as f:
            json.dump(record, f, indent=1)
        used = {who: "".join(re.findall(r"Used (\d+ registers)", text)) + (" SPILLS" if re.search(r"[1-9]\d* bytes spill", text) else "") +
                (" SERIALISED" if "Potential Performance Loss" in text else "") for who, text in log.items()}
        print(f"{case.name:26} TileLang {used['tilelang']:14} Kiln {used['kiln']}", flush=True)


if __name__ == "__main__":
    main()
