#include "backends/sim/runtime/matrix.h"

#include <charconv>

#include "backends/sim/matrix/ldmatrix.h"
#include "backends/sim/matrix/mma.h"
#include "backends/sim/matrix/wgmma.h"
#include "backends/sim/matrix/wmma.h"
#include "backends/sim/runtime/matrix_operations.h"
#include "backends/sim/runtime/require.h"
#include "backends/sim/runtime/tcgen05_operations.h"

namespace kiln::sim {

namespace {

const Lanes& lanes(const sim_lanes* l) {
  static_assert(sizeof(Lanes) == sizeof(sim_lanes));
  return *reinterpret_cast<const Lanes*>(l);
}

}  // namespace

namespace ops {

void mma(sim_warp* w, sim_mask mask, const void* form, const sim_lanes* d, const sim_lanes* a, const sim_lanes* b, const sim_lanes* c,
         int32_t site) {
  require_all(w, mask, site, "mma");
  sim::mma(*static_cast<const Mma*>(form), lanes(d), lanes(a), lanes(b), lanes(c));
}

void mma_sparse(sim_warp* w, sim_mask mask, const void* form, const sim_lanes* d, const sim_lanes* a, const sim_lanes* b,
                const sim_lanes* c, const sim_lanes* metadata, int32_t selector, int32_t site) {
  require_all(w, mask, site, "mma.sp");
  require(w, -1, site, [&] {
    return sim::mma_sparse(*static_cast<const Mma*>(form), lanes(d), lanes(a), lanes(b), lanes(c), lanes(metadata), selector);
  });
}

void ldmatrix(sim_warp* w, sim_mask mask, const void* form, const sim_lanes* d, const sim_lanes* from, int32_t site) {
  require_all(w, mask, site, "ldmatrix");
  sim::ldmatrix(*static_cast<const MatrixMove*>(form), lanes(d), lanes(from));
}

void stmatrix(sim_warp* w, sim_mask mask, const void* form, const sim_lanes* to, const sim_lanes* s, int32_t site) {
  require_all(w, mask, site, "stmatrix");
  sim::stmatrix(*static_cast<const MatrixMove*>(form), lanes(to), lanes(s));
}

// Work for later: by the wait for its group.
void wgmma(sim_warp* w, sim_mask mask, const void* form, const sim_lanes* d, const sim_lanes* registers, uint64_t a, uint64_t b,
           int32_t keep, const sim_lanes* metadata, int32_t site) {
  require_all(w, mask, site, "wgmma");
  Cluster& c = cluster_of(w);
  Warp& warp = warp_of(w);
  Agent agent;
  agent.queue = Agent::Queue::kWgmma;
  agent.owner = &warp;
  agent.group = warp.wgmma_groups;
  auto* f = static_cast<const Wgmma*>(form);
  std::span<const std::byte> shared(reinterpret_cast<const std::byte*>(w->shared), w->shared_bytes);
  agent.run = [&c, &warp, f, shared, a, b, site, quarter = w->warp % 4, keep = keep != 0, to = lanes(d),
               from = registers ? std::optional<Lanes>(lanes(registers)) : std::nullopt,
               chosen = metadata ? std::optional<Lanes>(lanes(metadata)) : std::nullopt](std::vector<std::byte>&) {
    const Lanes* m = chosen ? &*chosen : nullptr;
    Status s = from ? sim::wgmma(*f, quarter, to, *from, b, shared, keep, m) : sim::wgmma(*f, quarter, to, a, b, shared, keep, m);
    if (!s) c.report("bad_matrix", &warp, -1, site, s.error().message);
  };
  c.issue(std::move(agent));
}

void mma_scaled(sim_warp* w, sim_mask mask, const void* form, const sim_lanes* d, const sim_lanes* a, const sim_lanes* b,
                const sim_lanes* c, const sim_lanes* scale_a, int32_t byte_a, int32_t thread_a, const sim_lanes* scale_b, int32_t byte_b,
                int32_t thread_b, int32_t site) {
  require_all(w, mask, site, "mma");
  require(w, -1, site, [&] {
    return sim::mma_scaled(*static_cast<const Mma*>(form), lanes(d), lanes(a), lanes(b), lanes(c), lanes(scale_a), {byte_a, thread_a},
                           lanes(scale_b), {byte_b, thread_b});
  });
}

void wmma_load(sim_warp* w, sim_mask mask, const void* form, const sim_lanes* r, const void* from, int64_t stride, int32_t site) {
  require_all(w, mask, site, "wmma.load");
  sim::wmma_load(*static_cast<const Wmma*>(form), lanes(r), static_cast<const std::byte*>(from), stride);
}

void wmma_store(sim_warp* w, sim_mask mask, const void* form, void* to, const sim_lanes* r, int64_t stride, int32_t site) {
  require_all(w, mask, site, "wmma.store");
  sim::wmma_store(*static_cast<const Wmma*>(form), static_cast<std::byte*>(to), lanes(r), stride);
}

void wmma_mma(sim_warp* w, sim_mask mask, const void* form, const sim_lanes* d, const sim_lanes* a, const sim_lanes* b, const sim_lanes* c,
              int32_t site) {
  require_all(w, mask, site, "wmma.mma");
  sim::wmma_mma(*static_cast<const Wmma*>(form), lanes(d), lanes(a), lanes(b), lanes(c));
}

}  // namespace ops

Result<std::shared_ptr<const void>> make_form(std::string_view text) {
  std::string_view mnemonic = text.substr(0, text.find(' '));
  if (mnemonic.starts_with("ldmatrix.")) return shared_form(parse_ldmatrix(mnemonic));
  if (mnemonic.starts_with("stmatrix.")) return shared_form(parse_stmatrix(mnemonic));
  if (mnemonic.starts_with("mma.")) return shared_form(parse_mma(mnemonic));
  if (mnemonic.starts_with("wmma.")) return shared_form(parse_wmma(mnemonic));
  if (mnemonic.starts_with("tcgen05.")) return make_tcgen05_form(text);
  if (!mnemonic.starts_with("wgmma.")) return Error{Code::kUnsupported, "there is no instruction '" + std::string(text) + "'", "", ""};
  Result<Wgmma> form = parse_wgmma(mnemonic);
  if (!form) return form.error();
  int numbers[5] = {1, 1, 1, 1, 0};
  const char* at = text.data() + mnemonic.size();
  for (int& n : numbers) {
    if (at == text.data() + text.size()) break;
    at = std::from_chars(at + 1, text.data() + text.size(), n).ptr;
  }
  form->negate_a = numbers[0] <= 0, form->negate_b = numbers[1] <= 0;
  form->transpose_a = numbers[2] == 0, form->transpose_b = numbers[3] == 0;
  form->selector = numbers[4];
  return shared_form(std::move(form));
}

}  // namespace kiln::sim
