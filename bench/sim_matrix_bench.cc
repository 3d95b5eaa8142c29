// What the simulator computes a second with matrix instructions, on one core: one call of ldmatrix, mma or (a warp's quarter of) wgmma or
// a whole tcgen05.mma at a time; beside them their peak, the bare product of floats.
#include <benchmark/benchmark.h>

#include <memory>
#include <vector>

#include "backends/sim/matrix/dense.h"
#include "backends/sim/matrix/ldmatrix.h"
#include "backends/sim/matrix/mma.h"
#include "backends/sim/matrix/tcgen05.h"
#include "backends/sim/matrix/wgmma.h"

namespace kiln::sim {
namespace {

void report_flops(benchmark::State& state, double flops) {
  state.counters["GFLOP/s"] = benchmark::Counter(flops * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

void BM_SimMma(benchmark::State& state, const char* mnemonic) {
  Result<Mma> form = parse_mma(mnemonic);
  std::vector<std::byte> a(4096), b(4096), d(8192);
  Lanes left = Lanes::of(a.data(), 64), right = Lanes::of(b.data(), 64), sums = Lanes::of(d.data(), 256);
  for (auto _ : state) mma(*form, sums, left, right, sums);
  report_flops(state, 2.0 * form->m * form->n * form->k);
}
BENCHMARK_CAPTURE(BM_SimMma, f16, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32");
BENCHMARK_CAPTURE(BM_SimMma, bf16, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32");
BENCHMARK_CAPTURE(BM_SimMma, tf32, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32");
BENCHMARK_CAPTURE(BM_SimMma, e4m3, "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32");
BENCHMARK_CAPTURE(BM_SimMma, s8, "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32");
BENCHMARK_CAPTURE(BM_SimMma, f64, "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64");

void BM_SimLdmatrix(benchmark::State& state, const char* mnemonic) {
  Result<MatrixMove> form = parse_ldmatrix(mnemonic);
  std::vector<std::byte> memory(4096), registers(1024);
  Lanes rows = Lanes::of(memory.data(), 80), d = Lanes::of(registers.data(), 16);
  for (auto _ : state) ldmatrix(*form, d, rows);
  state.SetBytesProcessed(state.iterations() * 512);
}
BENCHMARK_CAPTURE(BM_SimLdmatrix, x4, "ldmatrix.sync.aligned.m8n8.x4.shared.b16");
BENCHMARK_CAPTURE(BM_SimLdmatrix, x4_trans, "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16");

// Lines of 128 bytes, eight together, swizzled: the usual tile, b with either direction innermost.
void BM_SimWgmma(benchmark::State& state, const char* mnemonic, bool transpose) {
  Result<Wgmma> form = parse_wgmma(mnemonic);
  form->transpose_b = transpose;
  std::vector<std::byte> shared(65536), d(32 * 512);
  uint64_t a = 16 / 16 << 16 | uint64_t{1024 / 16} << 32 | uint64_t{1} << 62;
  uint64_t b = 16384 / 16 | uint64_t{2048 / 16} << 16 | uint64_t{1024 / 16} << 32 | uint64_t{1} << 62;
  Lanes sums = Lanes::of(d.data(), 512);
  for (auto _ : state) {
    if (!wgmma(*form, 0, sums, a, b, shared, true)) return state.SkipWithError("wgmma failed");
  }
  report_flops(state, 2.0 * 16 * form->n * form->k);
}
BENCHMARK_CAPTURE(BM_SimWgmma, f16_n128, "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16", false);
BENCHMARK_CAPTURE(BM_SimWgmma, f16_n128_trans, "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16", true);
BENCHMARK_CAPTURE(BM_SimWgmma, f16_n256, "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16", false);
BENCHMARK_CAPTURE(BM_SimWgmma, e4m3_n128, "wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e4m3", false);
BENCHMARK_CAPTURE(BM_SimWgmma, s8_n128, "wgmma.mma_async.sync.aligned.m64n128k32.s32.s8.s8", false);

void BM_SimTcgen05(benchmark::State& state) {
  Result<Tcgen05Mma> form = parse_tcgen05_mma("tcgen05.mma.cta_group::1.kind::f16");
  auto memory = std::make_unique<TensorMemory>();
  if (!memory->allocate(128)) return state.SkipWithError("no tensor memory");
  std::vector<std::byte> shared(65536);
  Tcgen05Operands in;
  in.a = uint64_t{1024 / 16} << 32 | uint64_t{1} << 46 | uint64_t{2} << 61, in.b = in.a | 32768 / 16;
  in.instruction = 1 << 4 | 128 / 8 << 17 | 128 / 16 << 24;
  Tcgen05Block block{memory.get(), shared};
  for (auto _ : state) {
    if (!tcgen05_mma(*form, in, std::span(&block, 1))) return state.SkipWithError("tcgen05.mma failed");
  }
  report_flops(state, 2.0 * 128 * 128 * 16);
}
BENCHMARK(BM_SimTcgen05);

// The peak: nothing but the multiplications, of 16 rows and 32 columns that are floats already.
void BM_DenseProduct(benchmark::State& state) {
  std::vector<float> a(16 * 64), b(64 * 32), d(16 * 32);
  for (auto _ : state) dense().multiply(d.data(), 32, a.data(), 64, b.data(), 32, 16, 32, 64);
  report_flops(state, 2.0 * 16 * 32 * 64);
}
BENCHMARK(BM_DenseProduct);

}  // namespace
}  // namespace kiln::sim
