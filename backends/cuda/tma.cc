// cp.async.bulk and cp.async.bulk.tensor: copies by the tensor memory accelerator, from sm_90 on; and what blocks of a cluster do to each
// other's shared memory.
#include "backends/cuda/generated.h"

namespace kiln::cuda {

using namespace ir;
using namespace intrinsics;

namespace {

// L2 eviction policies, as createpolicy.fractional makes them for the whole access; the default needs none.
std::string policy_of(int64_t hint) { return hint == 1 ? "0x12F0000000000000" : "0x14F0000000000000"; }
std::string suffix_of(int64_t hint) { return hint == 0 ? "" : hint == 1 ? "_evict_first" : "_evict_last"; }

Error bad(const Arch& arch, const Call* c) { return unsupported(arch, "there is no '" + std::string(c->name) + "' of these arguments"); }

struct Text {
  std::string params, inputs, list;  // ", int x0", `, "r"(x0)`, "{%3, %4}"
};
Text coordinates(int first, int rank) {
  Text t;
  for (int i = 0; i < rank; ++i) {
    t.params += ", int x" + std::to_string(i);
    t.inputs += ", \"r\"(x" + std::to_string(i) + ")";
  }
  t.list = registers(first, rank);
  return t;
}

// map, barrier, to, multicast: mask of blocks; coordinates, im2col: offsets; hint. gather4: a column and four rows as coordinates.
Result<Generated> load(const Arch& arch, const Call* c) {
  bool im2col = c->op == Op::tl_tma_load_im2col, multicast = c->op == Op::tl_tma_load_multicast, gather = c->op == Op::tl_tma_load_gather4;
  bool pair = is_pair(c);
  int n = static_cast<int>(c->args.size()) - (multicast ? 5 : 4);  // coordinates, and offsets in all dimensions but two
  int count = im2col ? (n + 2) / 2 : n, rank = gather ? 2 : count;
  int64_t hint = int_arg(c, c->args.size() - 1);
  bool whole = im2col ? n % 2 == 0 && rank >= 3 : gather ? n == 5 : rank >= 1;
  if (!whole || rank > 5 || hint < 0 || hint > 2) return bad(arch, c);
  if (gather && arch.number < 100) return unsupported(arch, "there is no gathering tensor copy", "it needs sm_100 or newer");
  if (pair && !arch.has_tcgen05())
    return unsupported(arch, "there is no tensor copy for a pair of blocks", "it needs sm_100a or one of its likes");
  Text x = coordinates(3, count);
  std::string mode = im2col ? "im2col_" : multicast ? "multicast_" : gather ? "gather4_" : "";
  std::string name = "tma_load_" + mode + std::to_string(rank) + "d" + (pair ? "_pair" : "") + suffix_of(hint);
  std::string params, tail, inputs;
  int next = 3 + count;
  if (im2col) {
    tail = ", " + registers(next, rank - 2);
    next += rank - 2;
    for (int i = 0; i < rank - 2; ++i) {
      params += ", int offset" + std::to_string(i);
      inputs += ", \"h\"((unsigned short)offset" + std::to_string(i) + ")";
    }
  }
  if (multicast) {
    tail += ", %" + std::to_string(next++);
    inputs += ", \"h\"((unsigned short)blocks)";
  }
  if (hint) {
    tail += ", %" + std::to_string(next);
    inputs += ", \"l\"(" + policy_of(hint) + ")";
  }
  std::string opcode = "cp.async.bulk.tensor." + std::to_string(rank) + "d.shared::" + (gather && !pair ? "cta" : "cluster") + ".global" +
                       (im2col   ? ".im2col"
                        : gather ? ".tile::gather4"
                                 : "") +
                       ".mbarrier::complete_tx::bytes" + (multicast ? ".multicast::cluster" : "") + (pair ? ".cta_group::2" : "") +
                       (hint ? ".L2::cache_hint" : "");
  // The first block of a pair counts the bytes of both: its barrier's address has this bit clear.
  std::string barrier = std::string("shared_address(barrier)") + (pair ? " & 0xFEFFFFFF" : "");
  std::string text =
      "// Begins to copy a box of a tensor to shared memory" + std::string(multicast ? " of some blocks of the cluster" : "") +
      "; the barrier counts its bytes.\n__device__ __forceinline__ void " + name + "(const void* map, void* barrier, void* to" +
      (multicast ? ", int blocks" : "") + x.params + params + ") {\n  asm volatile(\n      \"" + opcode + " [%0], [%1, " + x.list +
      "], [%2]" + tail + ";\" ::\"r\"(shared_address(to)),\n      \"l\"(map), \"r\"(" + barrier + ")" + x.inputs + inputs +
      "\n      : \"memory\");\n}\n";
  return Generated{name, text};
}

// Without a tensor map: shared address, global address, barrier, bytes, hint.
Result<Generated> bulk_load(const Arch& arch, const Call* c) {
  int64_t hint = int_arg(c, 4);
  if (c->op != Op::tl_tma_load || c->args.size() != 5 || hint < 0 || hint > 2) return bad(arch, c);
  std::string name = "bulk_load" + suffix_of(hint);
  std::string text = "// Begins to copy bytes from global to shared memory; the barrier counts them.\n__device__ __forceinline__ void " +
                     name + "(void* to, const void* from, void* barrier, int bytes) {\n" +
                     "  asm volatile(\"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes" +
                     (hint ? ".L2::cache_hint" : "") + " [%0], [%1], %2, [%3]" + (hint ? ", %4" : "") +
                     ";\" ::\"r\"(shared_address(to)),\n" + "               \"l\"(from), \"r\"(bytes), \"r\"(shared_address(barrier))" +
                     (hint ? ", \"l\"(" + policy_of(hint) + ")" : "") + "\n               : \"memory\");\n}\n";
  return Generated{name, text};
}

// map, from, coordinates, adds, hint. scatter4: a column and four rows as coordinates, and never adds.
Result<Generated> store(const Arch& arch, const Call* c) {
  bool scatter = c->op == Op::tl_tma_store_scatter4;
  int count = static_cast<int>(c->args.size()) - (scatter ? 3 : 4), rank = scatter ? 2 : count;
  int64_t reduce = scatter ? 0 : int_arg(c, c->args.size() - 2), hint = int_arg(c, c->args.size() - 1);
  if (rank < 1 || rank > 5 || (scatter && count != 5) || reduce < 0 || hint < 0 || hint > 2) return bad(arch, c);
  if (scatter && !arch.has_tcgen05())
    return unsupported(arch, "there is no scattering tensor copy", "it needs sm_100a or one of its likes");
  Text x = coordinates(2, count);
  std::string name =
      std::string(reduce ? "tma_reduce_add_" : "tma_store_") + (scatter ? "scatter4_" : "") + std::to_string(rank) + "d" + suffix_of(hint);
  std::string text = std::string(reduce ? "// Begins to add shared memory to a box of a tensor.\n"
                                        : "// Begins to copy shared memory to a box of a tensor.\n") +
                     "__device__ __forceinline__ void " + name + "(const void* map, const void* from" + x.params +
                     ") {\n  asm volatile(\n      \"" + (reduce ? "cp.reduce.async.bulk.tensor." : "cp.async.bulk.tensor.") +
                     std::to_string(rank) + "d.global.shared::cta" +
                     (reduce    ? ".add.tile"
                      : scatter ? ".tile::scatter4"
                                : "") +
                     ".bulk_group" + (hint ? ".L2::cache_hint" : "") + " [%0, " + x.list + "], [%1]" +
                     (hint ? ", %" + std::to_string(2 + count) : "") + ";\" ::\"l\"(map),\n      \"r\"(shared_address(from))" + x.inputs +
                     (hint ? ", \"l\"(" + policy_of(hint) + ")" : "") + "\n      : \"memory\");\n}\n";
  return Generated{name, text};
}

// Without a tensor map: global address, shared address, bytes, adds, hint.
Result<Generated> bulk_store(const Arch& arch, const Call* c) {
  int64_t hint = int_arg(c, 4);
  if (c->op != Op::tl_tma_store || c->args.size() != 5 || int_arg(c, 3) != 0 || hint < 0 || hint > 2) return bad(arch, c);
  if (hint == 0) return Generated{"bulk_store", ""};
  std::string name = "bulk_store" + suffix_of(hint);
  std::string text = "// Begins to copy bytes from shared to global memory.\n__device__ __forceinline__ void " + name +
                     "(void* to, const void* from, int bytes) {\n"
                     "  asm volatile(\"cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%0], [%1], %2, %3;\" ::\"l\"(to),\n"
                     "               \"r\"(shared_address(from)), \"r\"(bytes), \"l\"(" +
                     policy_of(hint) + ")\n               : \"memory\");\n}\n";
  return Generated{name, text};
}

}  // namespace

Result<Generated> generate_tma(const Arch& arch, const Call* c) {
  if (arch.number < 90)
    return unsupported(arch, "there is no tensor memory accelerator for '" + std::string(c->name) + "'", "it needs sm_90 or newer");
  if (c->args.empty()) return bad(arch, c);
  bool map = c->args[0]->as<Var>();
  switch (c->op) {
    case Op::tl_tma_load: return map ? load(arch, c) : bulk_load(arch, c);
    case Op::tl_tma_store: return map ? store(arch, c) : bulk_store(arch, c);
    case Op::tl_tma_store_scatter4: return map ? store(arch, c) : bad(arch, c);
    case Op::tl_tma_store_cluster:
      if (c->args.size() != 5) return bad(arch, c);
      return Generated{"bulk_store_cluster", ""};
    case Op::tl_ptx_cluster_store:
      if (c->args.size() != 4 || !map || c->args[1]->dtype.lanes != 1) return bad(arch, c);
      return Generated{"cluster_store", ""};
    case Op::tl_ptx_st_bulk_shared:
      if (arch.number < 100) return unsupported(arch, "there is no '" + std::string(c->name) + "'", "it needs sm_100 or newer");
      if (c->args.size() != 3 || int_arg(c, 1) < 0 || int_arg(c, 2) != 0) return bad(arch, c);
      return Generated{"bulk_clear", ""};
    default: return map ? load(arch, c) : bad(arch, c);
  }
}

}  // namespace kiln::cuda
