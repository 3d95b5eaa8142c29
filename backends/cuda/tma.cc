// cp.async.bulk and cp.async.bulk.tensor: copies by the tensor memory accelerator, from sm_90 on; and what blocks of a cluster do to each
// other's shared memory.
#include "backends/cuda/generated.h"
#include "intrinsics/copy_calls.h"

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

Result<Generated> load(const Arch& arch, const TensorCopy& t) {
  bool gather = t.rows, multicast = t.blocks, pair = t.pair;
  int count = static_cast<int>(t.coordinates.size()), rank = t.rank;
  int64_t hint = t.hint;
  if (gather && arch.number < 100) return unsupported(arch, "there is no gathering tensor copy", "it needs sm_100 or newer");
  if (pair && !arch.has_tcgen05())
    return unsupported(arch, "there is no tensor copy for a pair of blocks", "it needs sm_100a or one of its likes");
  Text x = coordinates(3, count);
  std::string mode = t.im2col ? "im2col_" : multicast ? "multicast_" : gather ? "gather4_" : "";
  std::string name = "tma_load_" + mode + std::to_string(rank) + "d" + (pair ? "_pair" : "") + suffix_of(hint);
  std::string params, tail, inputs;
  int next = 3 + count;
  if (t.im2col) {
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
                       (t.im2col ? ".im2col"
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

Result<Generated> bulk_load(const BulkCopy& copy) {
  int64_t hint = copy.hint;
  std::string name = "bulk_load" + suffix_of(hint);
  std::string text = "// Begins to copy bytes from global to shared memory; the barrier counts them.\n__device__ __forceinline__ void " +
                     name + "(void* to, const void* from, void* barrier, int bytes) {\n" +
                     "  asm volatile(\"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes" +
                     (hint ? ".L2::cache_hint" : "") + " [%0], [%1], %2, [%3]" + (hint ? ", %4" : "") +
                     ";\" ::\"r\"(shared_address(to)),\n" + "               \"l\"(from), \"r\"(bytes), \"r\"(shared_address(barrier))" +
                     (hint ? ", \"l\"(" + policy_of(hint) + ")" : "") + "\n               : \"memory\");\n}\n";
  return Generated{name, text};
}

Result<Generated> store(const Arch& arch, const TensorCopy& t) {
  bool scatter = t.rows;
  int count = static_cast<int>(t.coordinates.size()), rank = t.rank;
  int64_t hint = t.hint;
  if (scatter && !arch.has_tcgen05())
    return unsupported(arch, "there is no scattering tensor copy", "it needs sm_100a or one of its likes");
  Text x = coordinates(2, count);
  std::string name =
      std::string(t.adds ? "tma_reduce_add_" : "tma_store_") + (scatter ? "scatter4_" : "") + std::to_string(rank) + "d" + suffix_of(hint);
  std::string text = std::string(t.adds ? "// Begins to add shared memory to a box of a tensor.\n"
                                        : "// Begins to copy shared memory to a box of a tensor.\n") +
                     "__device__ __forceinline__ void " + name + "(const void* map, const void* from" + x.params +
                     ") {\n  asm volatile(\n      \"" + (t.adds ? "cp.reduce.async.bulk.tensor." : "cp.async.bulk.tensor.") +
                     std::to_string(rank) + "d.global.shared::cta" +
                     (t.adds    ? ".add.tile"
                      : scatter ? ".tile::scatter4"
                                : "") +
                     ".bulk_group" + (hint ? ".L2::cache_hint" : "") + " [%0, " + x.list + "], [%1]" +
                     (hint ? ", %" + std::to_string(2 + count) : "") + ";\" ::\"l\"(map),\n      \"r\"(shared_address(from))" + x.inputs +
                     (hint ? ", \"l\"(" + policy_of(hint) + ")" : "") + "\n      : \"memory\");\n}\n";
  return Generated{name, text};
}

Result<Generated> bulk_store(const BulkCopy& copy) {
  int64_t hint = copy.hint;
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
  if (std::optional<TensorCopy> t = tensor_copy_call(c)) return t->is_store ? store(arch, *t) : load(arch, *t);
  if (std::optional<BulkCopy> b = bulk_copy_call(c)) return b->is_store ? bulk_store(*b) : bulk_load(*b);
  switch (c->op) {
    case Op::tl_tma_store_cluster:
      if (c->args.size() != 5) return bad(arch, c);
      return Generated{"bulk_store_cluster", ""};
    case Op::tl_ptx_cluster_store:
      if (c->args.size() != 4 || !c->args[0]->as<Var>() || c->args[1]->dtype.lanes != 1) return bad(arch, c);
      return Generated{"cluster_store", ""};
    case Op::tl_ptx_st_bulk_shared:
      if (arch.number < 100) return unsupported(arch, "there is no '" + std::string(c->name) + "'", "it needs sm_100 or newer");
      if (c->args.size() != 3 || int_arg(c, 1) < 0 || int_arg(c, 2) != 0) return bad(arch, c);
      return Generated{"bulk_clear", ""};
    default: return bad(arch, c);
  }
}

}  // namespace kiln::cuda
