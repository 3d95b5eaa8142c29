// cp.async.bulk and cp.async.bulk.tensor: copies by the tensor memory accelerator, from sm_90 on.
#include "backends/cuda/generated.h"

namespace kiln::cuda {

using namespace ir;

namespace {

// L2 eviction policies, as createpolicy.fractional makes them for the whole access; the default needs none.
std::string policy_of(int64_t hint) { return hint == 1 ? "0x12F0000000000000" : "0x14F0000000000000"; }
std::string suffix_of(int64_t hint) { return hint == 0 ? "" : hint == 1 ? "_evict_first" : "_evict_last"; }

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

Result<Generated> load(const Arch& arch, const Call* c) {
  bool im2col = c->op == Op::tl_tma_load_im2col;
  int n = static_cast<int>(c->args.size());
  int rank = im2col ? (n - 2) / 2 : n - 4;
  int64_t hint = int_arg(c, c->args.size() - 1);
  bool whole = im2col ? n % 2 == 0 && rank >= 3 : rank >= 1;
  if (!whole || rank > 5 || hint < 0 || hint > 2) return unsupported(arch, "there is no such tensor copy");
  Text x = coordinates(3, rank);
  std::string name = "tma_load_" + std::string(im2col ? "im2col_" : "") + std::to_string(rank) + "d" + suffix_of(hint);
  std::string text =
      "// Begins to copy a box of a tensor to shared memory; the barrier counts its bytes.\n__device__ __forceinline__ void " + name +
      "(const void* map, void* barrier, void* to" + x.params;
  std::string tail, inputs;
  int next = 3 + rank;
  if (im2col) {
    tail = ", " + registers(next, rank - 2);
    next += rank - 2;
    for (int i = 0; i < rank - 2; ++i) {
      text += ", int offset" + std::to_string(i);
      inputs += ", \"h\"((unsigned short)offset" + std::to_string(i) + ")";
    }
  }
  if (hint) {
    tail += ", %" + std::to_string(next);
    inputs += ", \"l\"(" + policy_of(hint) + ")";
  }
  text += ") {\n  asm volatile(\n      \"cp.async.bulk.tensor." + std::to_string(rank) + "d.shared::cluster.global" +
          (im2col ? ".im2col" : "") + ".mbarrier::complete_tx::bytes" + (hint ? ".L2::cache_hint" : "") + " [%0], [%1, " + x.list +
          "], [%2]" + tail + ";\" ::\"r\"(shared_address(to)),\n      \"l\"(map), \"r\"(shared_address(barrier))" + x.inputs + inputs +
          "\n      : \"memory\");\n}\n";
  return Generated{name, text};
}

// Without a tensor map: shared address, global address, barrier, bytes, hint.
Result<Generated> bulk_load(const Arch& arch, const Call* c) {
  if (c->args.size() != 5 || int_arg(c, 4) != 0) return unsupported(arch, "there is no such bulk copy");
  std::string text =
      "// Begins to copy bytes from global to shared memory; the barrier counts them.\n"
      "__device__ __forceinline__ void bulk_load(void* to, const void* from, void* barrier, int bytes) {\n"
      "  asm volatile(\"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];\" "
      "::\"r\"(shared_address(to)),\n"
      "               \"l\"(from), \"r\"(bytes), \"r\"(shared_address(barrier))\n               : \"memory\");\n}\n";
  return Generated{"bulk_load", text};
}

Result<Generated> store(const Arch& arch, const Call* c) {
  int rank = static_cast<int>(c->args.size()) - 4;
  int64_t reduce = int_arg(c, c->args.size() - 2), hint = int_arg(c, c->args.size() - 1);
  if (rank < 1 || rank > 5 || reduce < 0 || hint < 0 || hint > 2) return unsupported(arch, "there is no such tensor copy");
  Text x = coordinates(2, rank);
  std::string name = std::string(reduce ? "tma_reduce_add_" : "tma_store_") + std::to_string(rank) + "d" + suffix_of(hint);
  std::string text = std::string(reduce ? "// Begins to add shared memory to a box of a tensor.\n"
                                        : "// Begins to copy shared memory to a box of a tensor.\n") +
                     "__device__ __forceinline__ void " + name + "(const void* map, const void* from" + x.params +
                     ") {\n  asm volatile(\n      \"" + (reduce ? "cp.reduce.async.bulk.tensor." : "cp.async.bulk.tensor.") +
                     std::to_string(rank) + "d.global.shared::cta" + (reduce ? ".add.tile" : "") + ".bulk_group" +
                     (hint ? ".L2::cache_hint" : "") + " [%0, " + x.list + "], [%1]" + (hint ? ", %" + std::to_string(2 + rank) : "") +
                     ";\" ::\"l\"(map),\n      \"r\"(shared_address(from))" + x.inputs + (hint ? ", \"l\"(" + policy_of(hint) + ")" : "") +
                     "\n      : \"memory\");\n}\n";
  return Generated{name, text};
}

}  // namespace

Result<Generated> generate_tma(const Arch& arch, const Call* c) {
  if (arch.number < 90)
    return unsupported(arch, "there is no tensor memory accelerator for '" + std::string(c->name) + "'", "it needs sm_90 or newer");
  if (c->args.empty()) return unsupported(arch, "there is no such tensor copy");
  bool map = c->args[0]->as<Var>();
  if (c->op == Op::tl_tma_load_im2col && !map) return unsupported(arch, "there is no such tensor copy");
  if (c->op != Op::tl_tma_store) return map ? load(arch, c) : bulk_load(arch, c);
  if (map) return store(arch, c);
  if (c->args.size() != 5 || int_arg(c, 3) != 0 || int_arg(c, 4) != 0) return unsupported(arch, "there is no such bulk copy");
  return Generated{"bulk_store", ""};
}

}  // namespace kiln::cuda
