#!/usr/bin/env python3
"""Writes a CUDA program that runs matrix instructions on an H100 or H200 and prints backends/sim/tests/matrix_h200.txt.

    python tools/matrix_on_gpu.py > matrix.cu
    nvcc -w -gencode arch=compute_90a,code=sm_90a -std=c++17 -I. -o matrix matrix.cu
    ./matrix > backends/sim/tests/matrix_h200.txt

Operands are filled by backends/sim/tests/fill.h; a line has the instruction, what its operands were, and a hash of its results, as the
comment at the head of the output says. hardware_test.cc computes the same on the simulator.
"""

WIDTH = {"f16": 16, "bf16": 16, "tf32": 32, "e4m3": 8, "e5m2": 8, "f64": 64, "s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1, "f32": 32, "s32": 32}
BYTES = ("e4m3", "e5m2")

HEAD = """\
# Results of matrix instructions on an NVIDIA H200, as hashes; hardware_test.cc says how operands are filled.
# mma, ldmatrix, stmatrix: mnemonic, sparsity selector (-1: dense), FNV-1a of the results of all lanes (stmatrix: of the memory).
# wgmma: mnemonic, selector, a in registers, signs of a and b, transposes of a and b, keep, descriptors of a and b, hash.
"""


def registers(first, count):
    return "{" + ", ".join(f"%{i}" for i in range(first, first + count)) + "}"


def of(format):
    """The C type and the constraint of a register."""
    return {"f64": ("double", "d"), "f32": ("float", "f")}.get(format, ("unsigned", "r"))


def mma_forms():
    """(mnemonic, registers of a, b and d, selector or -1, formats of a, b and d)"""

    def dense(m, k, a, b, d, extra="", layout="row.col", suffix=""):
        word = 64 if a == "f64" else 32
        quad = m == 8 and a == "f16"
        na, nb = (2, 2) if quad else (m * k * WIDTH[a] // 32 // word, 8 * k * WIDTH[b] // 32 // word)
        nd = m * 8 * WIDTH[d] // 32 // (64 if d == "f64" else 32) * (4 if quad else 1)
        return (f"mma.sync.aligned.m{m}n8k{k}.{layout}{extra}.{d}.{a}.{b}.{d}{suffix}", na, nb, nd, -1, a, b, d)

    def sparse(k, a, b, d, selectors):
        name = f"mma.sp::ordered_metadata.sync.aligned.m16n8k{k}.row.col.{d}.{a}.{b}.{d}"
        na, nb, nd = 8 * k * WIDTH[a] // 1024, 8 * k * WIDTH[b] // 1024, 128 * WIDTH[d] // 1024
        return [(name, na, nb, nd, s, a, b, d) for s in range(selectors)]

    forms = [dense(8, 4, "f16", "f16", d, layout=l) for l in ("row.col", "row.row", "col.col", "col.row") for d in ("f16", "f32")]
    for k in (8, 16):
        forms += [dense(16, k, "f16", "f16", d) for d in ("f16", "f32")] + [dense(16, k, "bf16", "bf16", "f32")]
    forms += [dense(16, k, "tf32", "tf32", "f32") for k in (4, 8)]
    forms += [dense(16, k, a, b, d) for k in (16, 32) for d in ("f16", "f32") for a in BYTES for b in BYTES]
    forms += [dense(8, 4, "f64", "f64", "f64")] + [dense(16, k, "f64", "f64", "f64") for k in (4, 8, 16)]
    forms += [dense(m, k, a, b, "s32") for a in ("s8", "u8") for b in ("s8", "u8") for m, k in ((8, 16), (16, 16), (16, 32))]
    forms += [dense(16, 32, "s8", "s8", "s32", extra=".satfinite")]
    forms += [dense(m, k, a, b, "s32") for a in ("s4", "u4") for b in ("s4", "u4") for m, k in ((8, 32), (16, 32), (16, 64))]
    for op in ("xor", "and"):
        forms += [dense(m, k, "b1", "b1", "s32", suffix=f".{op}.popc") for m, k in ((8, 128), (16, 128), (16, 256))]
    for d in ("f16", "f32"):
        forms += sparse(16, "f16", "f16", d, 4) + sparse(32, "f16", "f16", d, 2)
    forms += sparse(16, "bf16", "bf16", "f32", 4) + sparse(32, "bf16", "bf16", "f32", 2)
    forms += sparse(8, "tf32", "tf32", "f32", 4) + sparse(16, "tf32", "tf32", "f32", 2)
    forms += sparse(32, "s8", "u8", "s32", 2) + sparse(64, "s8", "s8", "s32", 1) + sparse(64, "u8", "s8", "s32", 1)
    return forms + sparse(64, "s4", "u4", "s32", 2) + sparse(128, "s4", "s4", "s32", 1) + sparse(64, "e4m3", "e5m2", "f32", 1)


def descriptor(start, leading, stride, swizzle):
    return start >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | {0: 0, 128: 1, 64: 2, 32: 3}[swizzle] << 62


def wgmma_forms():
    """Dictionaries; a and b are descriptors, relative to the start of shared memory."""
    forms = []

    def form(n, k, a, b, d, at_a, at_b, rs=0, selector=-1, sign_a=1, sign_b=1, trans_a=0, trans_b=0, keep=1, suffix="", satfinite=""):
        name = f"wgmma.mma_async{'.sp' if selector >= 0 else ''}.sync.aligned.m64n{n}k{k}{satfinite}.{d}.{a}.{b}{suffix}"
        forms.append(dict(name=name, nd=n // 4 if d == "f16" else n // 2, a=a, b=b, d=d, at_a=descriptor(*at_a), at_b=descriptor(*at_b),
                          rs=rs, selector=selector, sign_a=sign_a, sign_b=sign_b, trans_a=trans_a, trans_b=trans_b, keep=keep))

    strides = {0: (128, 256), 128: (16, 1024), 64: (16, 512), 32: (16, 256)}
    half = 16384
    for swizzle in (0, 128, 64, 32):
        a, b = (0, *strides[swizzle], swizzle), (half, *strides[swizzle], swizzle)
        for f, k, d in (("f16", 16, "f32"), ("bf16", 16, "f32"), ("f16", 16, "f16"), ("tf32", 8, "f32"), ("e4m3", 32, "f32"),
                        ("e5m2", 32, "f16"), ("s8", 32, "s32"), ("u8", 32, "s32")):
            form(64, k, f, f, d, a, b)
        form(96, 16, "f16", "f16", "f32", a, b, rs=1)
        form(64, 256, "b1", "b1", "s32", a, b, suffix=".and.popc")
    # Further on along K, in the swizzle's pattern.
    form(64, 16, "f16", "f16", "f32", (32, 16, 1024, 128), (half + 64, 16, 1024, 128))
    form(64, 16, "f16", "f16", "f32", (1024 + 96, 16, 1024, 128), (half + 96, 16, 1024, 128))
    form(64, 16, "f16", "f16", "f32", (32, 16, 512, 64), (half + 32, 16, 512, 64))
    # K not innermost.
    for swizzle, atom in ((128, 1024), (64, 512), (32, 256)):
        for trans_a, trans_b in ((1, 0), (0, 1), (1, 1)):
            a = (0, 2 * atom, atom, swizzle) if trans_a else (0, *strides[swizzle], swizzle)
            b = (half, 2 * atom, atom, swizzle) if trans_b else (half, *strides[swizzle], swizzle)
            form(96, 16, "f16", "f16", "f32", a, b, trans_a=trans_a, trans_b=trans_b)
    form(64, 16, "bf16", "bf16", "f32", (0, 128, 256, 0), (half, 1024, 128, 0), trans_a=1, trans_b=1)
    form(64, 16, "bf16", "bf16", "f32", (0, 1024, 128, 0), (half, 128, 256, 0), trans_a=1, trans_b=1)
    a, b, across = (0, 16, 1024, 128), (half, 16, 1024, 128), (half, 2048, 1024, 128)
    for n in (8, 24, 40, 128):
        form(n, 16, "f16", "f16", "f32", a, b)
    form(128, 16, "f16", "f16", "f16", a, b)
    form(48, 32, "s8", "u8", "s32", a, b)
    form(24, 32, "u8", "s8", "s32", a, b, satfinite=".satfinite")
    for signs in (dict(sign_a=-1), dict(sign_b=-1), dict(sign_a=-1, sign_b=-1), dict(keep=0)):
        form(64, 16, "f16", "f16", "f32", a, b, **signs)
    form(64, 16, "bf16", "bf16", "f32", a, b, rs=1, sign_a=-1)
    form(64, 8, "tf32", "tf32", "f32", a, b, rs=1)
    form(64, 32, "e4m3", "e5m2", "f32", a, b, rs=1)
    form(64, 32, "s8", "u8", "s32", a, b, rs=1)
    form(64, 256, "b1", "b1", "s32", a, b, rs=1, suffix=".and.popc")
    form(64, 16, "f16", "f16", "f16", a, b, rs=1, keep=0)
    form(64, 16, "f16", "f16", "f32", a, across, rs=1, trans_b=1)
    for rs in (0, 1):
        for s in (0, 1):
            form(64, 32, "f16", "f16", "f32", a, b, rs=rs, selector=s)
            form(64, 16, "tf32", "tf32", "f32", a, b, rs=rs, selector=s)
        form(64, 64, "e4m3", "e4m3", "f32", a, b, rs=rs, selector=0)
        form(64, 64, "s8", "u8", "s32", a, b, rs=rs, selector=0)
    form(64, 32, "bf16", "bf16", "f32", a, across, selector=0, trans_b=1)
    return forms


def metadata(a):
    return "metadata_tf32" if a == "tf32" else "metadata"


def mma_kernel(i, name, na, nb, nd, selector, a, b, d):
    (td, cd), (ta, ca) = of(d), of(a if a == "f64" else "")
    inputs = [f'"{ca}"(a[{j}])' for j in range(na)] + [f'"{ca}"(b[{j}])' for j in range(nb)] + [f'"{cd}"(c[{j}])' for j in range(nd)]
    tail = "" if selector < 0 else f", %{2 * nd + na + nb}, {selector}"
    if selector >= 0:
        inputs.append('"r"(E[l])')
    kernel = f"""__global__ void mma{i}(const void* A, const void* B, const void* C, const unsigned* E, void* D) {{
  int l = threadIdx.x;
  const {ta}*a = (const {ta}*)A + l * {na}, *b = (const {ta}*)B + l * {nb};
  const {td}* c = (const {td}*)C + l * {nd};
  {td}* d = ({td}*)D + l * {nd};
  asm volatile("{name} {registers(0, nd)}, {registers(nd, na)}, {registers(nd + na, nb)}, {registers(nd + na + nb, nd)}{tail};"
               : {", ".join(f'"={cd}"(d[{j}])' for j in range(nd))} : {", ".join(inputs)});
}}"""
    wa, wd = 8 if a == "f64" else 4, 8 if d == "f64" else 4
    call = (f'fill("{a}", 1, A, {32 * na * wa}); fill("{b}", 2, B, {32 * nb * wa}); fill("{d}", 3, C, {32 * nd * wd}); '
            f'fill("{metadata(a)}", 4, E, 128); mma{i}<<<1, 32>>>(A, B, C, (unsigned*)E, D); report("{name} {selector}", D, {32 * nd * wd});')
    return kernel, call


def move_kernels(count, trans):
    outputs, inputs = ", ".join(f'"=r"(d[{j}])' for j in range(count)), ", ".join(f'"r"(r[{j}])' for j in range(count))
    tail = f'm8n8.x{count}{".trans" if trans else ""}.shared.b16'
    start = """  __shared__ __align__(16) unsigned s[256];
  int l = threadIdx.x;
  for (int i = l; i < 256; i += 32) s[i] = %s;
  __syncwarp();
  unsigned at = (unsigned)__cvta_generic_to_shared(s) + ((l * 7 + 3) %% 32) * 16;
"""
    load = f"__global__ void load{count}{trans}(const unsigned* in, unsigned* D) {{\n{start % 'in[i]'}  unsigned* d = D + l * {count};\n"
    load += (f'  asm volatile("ldmatrix.sync.aligned.{tail} {registers(0, count)}, [%{count}];" : '
             f'{outputs} : "r"(at));\n}}')
    store = f"__global__ void store{count}{trans}(const unsigned* in, unsigned* D) {{\n{start % '0'}  const unsigned* r = in + l * {count};\n"
    store += (f'  asm volatile("stmatrix.sync.aligned.{tail} [%0], {registers(1, count)};" ::"r"(at), '
              f'{inputs});\n  __syncwarp();\n  for (int i = l; i < 256; i += 32) D[i] = s[i];\n}}')
    calls = [f'fill("s8", 1, A, 4096); {kind}{count}{trans}<<<1, 32>>>((unsigned*)A, (unsigned*)D); '
             f'report("{instruction}.sync.aligned.{tail} -1", D, {size});'
             for kind, instruction, size in (("load", "ldmatrix", 128 * count), ("store", "stmatrix", 1024))]
    return load + "\n" + store, "\n  ".join(calls)


def wgmma_kernel(i, f):
    td, cd = of(f["d"])
    nd = f["nd"]
    next_operand = nd + (4 if f["rs"] else 1)
    left = registers(nd, 4) if f["rs"] else f"%{nd}"
    sparse = f", %{next_operand + 2}, {f['selector']}" if f["selector"] >= 0 else ""
    flags = f", {f['sign_a']}, {f['sign_b']}" if f["a"] in ("f16", "bf16", "tf32", *BYTES) else ""
    if f["a"] in ("f16", "bf16"):
        flags += ("" if f["rs"] else f", {f['trans_a']}") + f", {f['trans_b']}"
    inputs = (", ".join(f'"r"(a[{j}])' for j in range(4)) if f["rs"] else '"l"(da)') + ', "l"(db), "r"(keep)'
    inputs += ', "r"(E[l])' if f["selector"] >= 0 else ""
    kernel = f"""__global__ void wgmma{i}(const uint4* S, const unsigned* A, const void* C, const unsigned* E, void* D) {{
  extern __shared__ __align__(1024) uint4 s[];
  int l = threadIdx.x, keep = {f["keep"]};
  for (int i = l; i < 3072; i += 128) s[i] = S[i];
  unsigned base = (unsigned)__cvta_generic_to_shared(s) >> 4;
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  unsigned long long da = {f["at_a"]}ull + base, db = {f["at_b"]}ull + base;
  unsigned a[4];
  for (int j = 0; j < 4; ++j) a[j] = A[l * 4 + j];
  {td} d[{nd}];
  for (int j = 0; j < {nd}; ++j) d[j] = (({td}*)C)[l * {nd} + j];
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  asm volatile("{{.reg .pred p; setp.ne.b32 p, %{next_operand + 1}, 0; {f["name"]} {registers(0, nd)}, {left}, %{next_operand}{sparse}, p{flags};}}"
               : {", ".join(f'"+{cd}"(d[{j}])' for j in range(nd))} : {inputs});
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  for (int j = 0; j < {nd}; ++j) (({td}*)D)[l * {nd} + j] = d[j];
}}"""
    text = (f'{f["name"]} {f["selector"]} {f["rs"]} {f["sign_a"]} {f["sign_b"]} {f["trans_a"]} {f["trans_b"]} {f["keep"]} '
            f'0x{f["at_a"]:X} 0x{f["at_b"]:X}')
    call = (f'check(cudaFuncSetAttribute(wgmma{i}, cudaFuncAttributeMaxDynamicSharedMemorySize, 49152)); '
            f'fill("{f["a"]}", 5, S, 16384); fill("{f["b"]}", 6, S + 16384, 32768); fill("{f["a"]}", 1, A, 2048); '
            f'fill("{f["d"]}", 3, C, {512 * nd}); fill("{metadata(f["a"])}", 4, E, 512); '
            f'wgmma{i}<<<1, 128, 49152>>>((uint4*)S, (unsigned*)A, C, (unsigned*)E, D); report("{text}", D, {512 * nd});')
    return kernel, call


def main():
    parts = [mma_kernel(i, *form) for i, form in enumerate(mma_forms())]
    parts += [move_kernels(count, trans) for count in (1, 2, 4) for trans in (0, 1)]
    parts += [wgmma_kernel(i, form) for i, form in enumerate(wgmma_forms())]
    print('#include <cstdio>\n#include <cstdlib>\n\n#include "backends/sim/tests/fill.h"\n\nusing kiln::sim::fill;\n')
    print("\n".join(kernel for kernel, _ in parts))
    print("""
void check(cudaError_t e) {
  if (e == cudaSuccess) return;
  fprintf(stderr, "%s\\n", cudaGetErrorString(e));
  exit(1);
}
void report(const char* text, const char* bytes, int count) {
  check(cudaDeviceSynchronize());
  unsigned long long h = 0xCBF29CE484222325ull;
  for (int i = 0; i < count; ++i) h = (h ^ (unsigned char)bytes[i]) * 0x100000001B3ull;
  printf("%s 0x%016llX\\n", text, h);
}
int main() {
  char *A, *B, *C, *D, *E, *S;
  for (char** p : {&A, &B, &C, &D, &E, &S}) check(cudaMallocManaged(p, 1 << 20));""")
    for line in HEAD.splitlines():
        print(f'  puts("{line}");')
    print("\n".join("  " + call for _, call in parts))
    print("}")


if __name__ == "__main__":
    main()
