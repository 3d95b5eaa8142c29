"""TileLang programs whose kernels are timed by kernel_bench.py: one function a case, with what it computes and how much work that is.

A case is (name, arch, program, check): `program` is a PrimFunc, `check` names how kernel_bench.py computes the answer with torch
("gemm_nn", "softmax", ...). `flops` and `bytes` are of one launch; the one that is set is what the speed is given in.
"""
import dataclasses

import tilelang.language as T


@dataclasses.dataclass
class Case:
    name: str
    arch: str
    program: object
    check: str
    flops: float = 0
    bytes: float = 0
    options: dict = dataclasses.field(default_factory=dict)  # PassContext configuration


def gemm(n, tile, dtype, out, accumulate="float32", transpose_b=False, stages=3, threads=256, panel=0):
    tile_m, tile_n, tile_k = tile
    b_shape = (n, n)
    b_tile = (tile_n, tile_k) if transpose_b else (tile_k, tile_n)

    @T.prim_func
    def gemm(A: T.Tensor((n, n), dtype), B: T.Tensor(b_shape, dtype), C: T.Tensor((n, n), out)):
        with T.Kernel(T.ceildiv(n, tile_n), T.ceildiv(n, tile_m), threads=threads) as (bx, by):
            a = T.alloc_shared((tile_m, tile_k), dtype)
            b = T.alloc_shared(b_tile, dtype)
            c = T.alloc_fragment((tile_m, tile_n), accumulate)
            if panel:
                T.use_swizzle(panel)
            T.clear(c)
            for k in T.Pipelined(T.ceildiv(n, tile_k), num_stages=stages):
                T.copy(A[by * tile_m, k * tile_k], a)
                if transpose_b:
                    T.copy(B[bx * tile_n, k * tile_k], b)
                else:
                    T.copy(B[k * tile_k, bx * tile_n], b)
                T.gemm(a, b, c, transpose_B=transpose_b)
            T.copy(c, C[by * tile_m, bx * tile_n])

    return gemm


def split_k_gemm(m, n, k, split):
    part = k // split

    @T.prim_func
    def split_k(A: T.Tensor((m, k), "float16"), B: T.Tensor((k, n), "float16"), C: T.Tensor((m, n), "float32")):
        with T.Kernel(n // 128, m // 128, split, threads=128) as (bx, by, bz):
            a = T.alloc_shared((128, 64), "float16")
            b = T.alloc_shared((64, 128), "float16")
            c = T.alloc_fragment((128, 128), "float32")
            T.clear(c)
            for i in T.Pipelined(part // 64, num_stages=3):
                T.copy(A[by * 128, bz * part + i * 64], a)
                T.copy(B[bz * part + i * 64, bx * 128], b)
                T.gemm(a, b, c)
            for i, j in T.Parallel(128, 128):
                T.atomic_add(C[by * 128 + i, bx * 128 + j], c[i, j])

    return split_k


def dequantised_gemm(n, threads=256):
    """Weights of four bits, two a byte, with a scale a row."""

    @T.prim_func
    def dequantised(A: T.Tensor((n, n), "float16"), Q: T.Tensor((n, n // 2), "uint8"), S: T.Tensor((n,), "float16"), C: T.Tensor((n, n), "float16")):
        with T.Kernel(n // 128, n // 128, threads=threads) as (bx, by):
            a = T.alloc_shared((128, 64), "float16")
            q = T.alloc_shared((128, 32), "uint8")
            w = T.alloc_shared((128, 64), "float16")
            c = T.alloc_fragment((128, 128), "float32")
            T.clear(c)
            for k in T.Pipelined(n // 64, num_stages=3):
                T.copy(A[by * 128, k * 64], a)
                T.copy(Q[bx * 128, k * 32], q)
                for i, j in T.Parallel(128, 64):
                    nibble = T.bitwise_and(T.shift_right(q[i, j // 2], T.cast((j % 2) * 4, "uint8")), T.uint8(15))
                    w[i, j] = (T.cast(nibble, "float16") - T.float16(8)) * S[bx * 128 + i]
                T.gemm(a, w, c, transpose_B=True)
            T.copy(c, C[by * 128, bx * 128])

    return dequantised


def attention(batch, heads, length, depth, causal, tile_m, tile_n, threads, stages=2):
    scale = (1.0 / depth**0.5) * 1.4426950408889634  # exponentials of base two
    shape = (batch, heads, length, depth)

    @T.prim_func
    def attention(Q: T.Tensor(shape, "float16"), K: T.Tensor(shape, "float16"), V: T.Tensor(shape, "float16"), O: T.Tensor(shape, "float16")):
        with T.Kernel(T.ceildiv(length, tile_m), heads, batch, threads=threads) as (bx, by, bz):
            q = T.alloc_shared((tile_m, depth), "float16")
            k = T.alloc_shared((tile_n, depth), "float16")
            v = T.alloc_shared((tile_n, depth), "float16")
            o_shared = T.alloc_shared((tile_m, depth), "float16")
            s = T.alloc_fragment((tile_m, tile_n), "float32")
            p = T.alloc_fragment((tile_m, tile_n), "float16")
            o = T.alloc_fragment((tile_m, depth), "float32")
            high = T.alloc_fragment((tile_m,), "float32")
            before = T.alloc_fragment((tile_m,), "float32")
            shrink = T.alloc_fragment((tile_m,), "float32")
            row = T.alloc_fragment((tile_m,), "float32")
            total = T.alloc_fragment((tile_m,), "float32")
            T.copy(Q[bz, by, bx * tile_m, 0], q)
            T.clear(o)
            T.clear(total)
            T.fill(high, -T.infinity("float32"))
            steps = T.ceildiv((bx + 1) * tile_m, tile_n) if causal else T.ceildiv(length, tile_n)
            for step in T.Pipelined(steps, num_stages=stages):
                T.copy(K[bz, by, step * tile_n, 0], k)
                if causal:
                    for i, j in T.Parallel(tile_m, tile_n):
                        s[i, j] = T.if_then_else(bx * tile_m + i >= step * tile_n + j, 0, -T.infinity("float32"))
                else:
                    T.clear(s)
                T.gemm(q, k, s, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                T.copy(high, before)
                T.reduce_max(s, high, dim=1, clear=False)
                for i in T.Parallel(tile_m):
                    shrink[i] = T.exp2((before[i] - high[i]) * scale)
                for i, j in T.Parallel(tile_m, tile_n):
                    s[i, j] = T.exp2(s[i, j] * scale - high[i] * scale)
                T.reduce_sum(s, row, dim=1)
                for i in T.Parallel(tile_m):
                    total[i] = total[i] * shrink[i] + row[i]
                for i, j in T.Parallel(tile_m, depth):
                    o[i, j] *= shrink[i]
                T.copy(s, p)
                T.copy(V[bz, by, step * tile_n, 0], v)
                T.gemm(p, v, o, policy=T.GemmWarpPolicy.FullRow)
            for i, j in T.Parallel(tile_m, depth):
                o[i, j] = o[i, j] / total[i]
            T.copy(o, o_shared)
            T.copy(o_shared, O[bz, by, bx * tile_m, 0])

    return attention


def softmax(n, threads):
    @T.prim_func
    def softmax(X: T.Tensor((n, n), "float16"), Y: T.Tensor((n, n), "float16")):
        with T.Kernel(n, threads=threads) as row:
            x = T.alloc_fragment((1, n), "float32")
            high = T.alloc_fragment((1,), "float32")
            total = T.alloc_fragment((1,), "float32")
            T.copy(X[row, 0], x)
            T.reduce_max(x, high, dim=1)
            for i, j in T.Parallel(1, n):
                x[i, j] = T.exp(x[i, j] - high[i])
            T.reduce_sum(x, total, dim=1)
            for i, j in T.Parallel(1, n):
                x[i, j] = x[i, j] / total[i]
            T.copy(x, Y[row, 0])

    return softmax


def rms_norm(n, threads):
    @T.prim_func
    def rms_norm(X: T.Tensor((n, n), "float16"), W: T.Tensor((n,), "float16"), Y: T.Tensor((n, n), "float16")):
        with T.Kernel(n, threads=threads) as row:
            x = T.alloc_fragment((1, n), "float32")
            square = T.alloc_fragment((1, n), "float32")
            total = T.alloc_fragment((1,), "float32")
            T.copy(X[row, 0], x)
            for i, j in T.Parallel(1, n):
                square[i, j] = x[i, j] * x[i, j]
            T.reduce_sum(square, total, dim=1)
            for i in T.Parallel(1):
                total[i] = T.rsqrt(total[i] / n + 1e-5)
            for i, j in T.Parallel(1, n):
                Y[row, j] = T.cast(x[i, j] * total[i] * T.cast(W[j], "float32"), "float16")

    return rms_norm


def layer_norm(n, threads):
    @T.prim_func
    def layer_norm(X: T.Tensor((n, n), "float16"), G: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32"), Y: T.Tensor((n, n), "float16")):
        with T.Kernel(n, threads=threads) as row:
            x = T.alloc_fragment((1, n), "float32")
            square = T.alloc_fragment((1, n), "float32")
            mean = T.alloc_fragment((1,), "float32")
            variance = T.alloc_fragment((1,), "float32")
            T.copy(X[row, 0], x)
            T.reduce_sum(x, mean, dim=1)
            for i in T.Parallel(1):
                mean[i] = mean[i] / n
            for i, j in T.Parallel(1, n):
                square[i, j] = (x[i, j] - mean[i]) * (x[i, j] - mean[i])
            T.reduce_sum(square, variance, dim=1)
            for i, j in T.Parallel(1, n):
                Y[row, j] = T.cast((x[i, j] - mean[i]) * T.rsqrt(variance[i] / n + 1e-5) * G[j] + B[j], "float16")

    return layer_norm


def transpose(n, tile, dtype, threads):
    @T.prim_func
    def transpose(A: T.Tensor((n, n), dtype), B: T.Tensor((n, n), dtype)):
        with T.Kernel(n // tile, n // tile, threads=threads) as (bx, by):
            s = T.alloc_shared((tile, tile), dtype)
            for i, j in T.Parallel(tile, tile):
                s[i, j] = A[by * tile + i, bx * tile + j]
            for i, j in T.Parallel(tile, tile):
                B[bx * tile + i, by * tile + j] = s[j, i]

    return transpose


def add(n):
    @T.prim_func
    def add(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32"), C: T.Tensor((n,), "float32")):
        with T.Kernel(n // 1024, threads=256) as block:
            for i in T.Parallel(1024):
                C[block * 1024 + i] = A[block * 1024 + i] + B[block * 1024 + i]

    return add


def cases():
    yield from gemm_cases()
    tokens = 4 * 16 * 4096
    for name, tile, threads, causal in (("128x128", (128, 128), 256, False), ("192x128", (192, 128), 384, False), ("causal_128x128", (128, 128), 256, True)):
        work = 4 * tokens * 4096 * 128 * (0.5 if causal else 1)
        yield Case(f"attention_{name}", "sm_90a", attention(4, 16, 4096, 128, causal, *tile, threads), "causal" if causal else "attention", flops=work)
    work = 4 * tokens * 4096 * 128
    yield Case("mma_attention_128x64", "sm_80", attention(4, 16, 4096, 128, False, 128, 64, 128, 1), "attention", flops=work)
    n = 8192
    for threads in (256, 512):
        yield Case(f"softmax_8192_{threads}", "sm_90a", softmax(n, threads), "softmax", bytes=4 * n * n)
    yield Case("rms_norm_8192", "sm_90a", rms_norm(n, 256), "rms_norm", bytes=4 * n * n)
    yield Case("layer_norm_8192", "sm_90a", layer_norm(n, 256), "layer_norm", bytes=4 * n * n)
    yield Case("transpose_f32_8192", "sm_90a", transpose(n, 32, "float32", 256), "transpose", bytes=8 * n * n)
    yield Case("transpose_f16_8192", "sm_90a", transpose(n, 64, "float16", 256), "transpose", bytes=4 * n * n)
    yield Case("add_f32", "sm_90a", add(1 << 27), "add", bytes=12 * (1 << 27))


def gemm_cases():
    large, small = (128, 256, 64), (64, 128, 64)
    for n, stages in ((2048, 3), (4096, 3), (4096, 4), (8192, 3), (8192, 4)):
        yield Case(f"gemm_f16_{n}_s{stages}", "sm_90a", gemm(n, large, "float16", "float16", stages=stages), "gemm_nn", flops=2 * n**3)
    yield Case("gemm_f16_1024", "sm_90a", gemm(1024, small, "float16", "float16", stages=4, threads=128), "gemm_nn", flops=2 * 1024**3)
    yield Case("gemm_f16_8192_panel", "sm_90a", gemm(8192, large, "float16", "float16", stages=4, panel=10), "gemm_nn", flops=2 * 8192**3)
    for n in (1024, 2048, 4096, 8192):
        tile, threads = ((64, 128), 128) if n == 1024 else ((128, 256), 256)
        half, byte = (*tile, 64), (*tile, 128)
        yield Case(f"gemm_bf16_{n}", "sm_90a", gemm(n, half, "bfloat16", "bfloat16", stages=4, threads=threads), "gemm_nn", flops=2 * n**3)
        yield Case(f"gemm_e4m3_{n}", "sm_90a", gemm(n, byte, "float8_e4m3", "float16", "float32", True, 4, threads), "gemm_nt", flops=2 * n**3)
        yield Case(f"gemm_i8_{n}", "sm_90a", gemm(n, byte, "int8", "int32", "int32", True, 4, threads), "gemm_nt", flops=2 * n**3)
    yield Case("gemm_f16_4096_narrow", "sm_90a", gemm(4096, (128, 128, 64), "float16", "float16", stages=4), "gemm_nn", flops=2 * 4096**3)
    yield Case("split_k_1024", "sm_90a", split_k_gemm(1024, 1024, 8192, 4), "gemm_nn", flops=2 * 1024 * 1024 * 8192)
    yield Case("dequantised_4096", "sm_90a", dequantised_gemm(4096), "dequantised", flops=2 * 4096**3)
    yield Case("mma_i8_4096", "sm_80", gemm(4096, (128, 128, 64), "int8", "int32", "int32", True, 3, threads=128), "gemm_nt", flops=2 * 4096**3)
    yield Case("mma_dequantised_4096", "sm_80", dequantised_gemm(4096, threads=128), "dequantised", flops=2 * 4096**3)
    yield Case("mma_f16_4096", "sm_80", gemm(4096, (128, 128, 32), "float16", "float16", stages=3, threads=128), "gemm_nn", flops=2 * 4096**3)
