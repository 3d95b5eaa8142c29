// tcgen05: tensor memory and the matrix instruction that one thread issues, on sm_100a and its likes (PTX ISA, "TensorCore 5th Generation
// Family Instructions"). A warp calls each helper; where the instruction is for one thread, the helper elects it.
#include "backends/cuda/generated.h"
#include "intrinsics/matrix_calls.h"

namespace kiln::cuda {

using namespace ir;
using namespace intrinsics;

namespace {

std::string group(bool pair) { return pair ? "cta_group::2" : "cta_group::1"; }
std::string pair_suffix(bool pair) { return pair ? "_pair" : ""; }

Error bad(const Arch& arch, const Call* c) { return unsupported(arch, "there is no '" + std::string(c->name) + "' of these arguments"); }

Generated allocate(const Call* c) {
  bool pair = is_pair(c), frees = c->op == Op::tl_ptx_deallocate_tensor_memory;
  std::string name = std::string(frees ? "tensor_memory_free" : "tensor_memory_allocate") + pair_suffix(pair);
  std::string text =
      frees ? "// Gives columns of tensor memory back.\n" : "// Takes columns of tensor memory; their address goes to shared memory.\n";
  text += "__device__ __forceinline__ void " + name + "(" + (frees ? "const " : "") + "void* address, int columns) {\n";
  if (frees) {
    text += "  asm volatile(\"tcgen05.dealloc." + group(pair) +
            ".sync.aligned.b32 %0, %1;\" ::\"r\"(*(const unsigned*)address), \"r\"(columns) : \"memory\");\n}\n";
  } else {
    text += "  asm volatile(\"tcgen05.alloc." + group(pair) +
            ".sync.aligned.shared::cta.b32 [%0], %1;\" ::\"r\"(shared_address(address)), \"r\"(columns) : \"memory\");\n}\n";
  }
  return {name, text};
}

// tcgen05.ld and tcgen05.st: bits of a row, repetitions, pack, address, column, lanes (32 when left out), registers.
Result<Generated> move(const Arch& arch, const Call* c) {
  bool load = c->op == Op::tl_tcgen05_ld, has_lanes = c->args.size() == 7;
  int64_t bits = int_arg(c, 0), count = int_arg(c, 1), packs = int_arg(c, 2), lanes = has_lanes ? int_arg(c, 5) : 32;
  if ((c->args.size() != 6 && !has_lanes) || packs < 0 || (lanes != 16 && lanes != 32)) return bad(arch, c);
  bool whole = bits == 32 && lanes == 32;
  if (!whole && bits != 64 && bits != 128 && bits != 256) return bad(arch, c);
  int64_t registers_each = whole ? 1 : bits / 64, columns_each = bits / 32, most = 128 / registers_each;
  bool power = count > 0 && (count & (count - 1)) == 0;
  // 512 columns are all that there are. Two halves of an odd number of repetitions have no order of registers that is sure.
  if (count < 1 || count * columns_each > 512 || (!power && (!whole || packs)) || (count > most && !whole)) return bad(arch, c);
  std::string op = load ? "ld" : "st", shape = whole ? "32x32b" : "16x" + std::to_string(bits) + "b";
  std::string name = "tensor_memory_" + std::string(load ? "load_" : "store_") + std::to_string(lanes) + "x" + std::to_string(bits) +
                     "b_x" + std::to_string(count) + (packs ? "_16" : "");
  std::string text =
      load ? "// Loads rows of tensor memory to registers, by a warp.\n" : "// Stores registers to rows of tensor memory, by a warp.\n";
  text += "__device__ __forceinline__ void " + name + "(unsigned address, " + (load ? "" : "const ") + "void* " + (load ? "to" : "from") +
          ") {\n  " + (load ? "" : "const ") + "unsigned* r = (" + (load ? "" : "const ") + "unsigned*)" + (load ? "to" : "from") + ";\n";
  int64_t at = 0;
  for (int half = 0; half < (whole ? 1 : lanes / 16); ++half) {
    for (int64_t done = 0; done < count;) {
      int64_t n = most;
      while (n > count - done) n /= 2;
      int regs = static_cast<int>(n * registers_each);
      int64_t offset = (int64_t{half} << 20) + done * columns_each;  // lanes are in the upper half of an address
      std::string address = "address" + (offset ? " + " + std::to_string(offset) : "");
      std::string array = at ? "(r + " + std::to_string(at) + ")" : "r";
      std::string base = "tcgen05." + op + ".sync.aligned." + shape + ".x" + std::to_string(n);
      // The wait is in the same statement as a load: nothing may use its registers earlier.
      if (load) {
        text += "  asm volatile(\n      \"" + base + (packs ? ".pack::16b" : "") + ".b32 " + registers(0, regs) + ", [%" +
                std::to_string(regs) + "];\\n\"\n      \"tcgen05.wait::ld.sync.aligned;\"\n      : " + operands("=r", array, regs) +
                "\n      : \"r\"(" + address + ")\n      : \"memory\");\n";
      } else {
        text += "  asm volatile(\n      \"" + base + (packs ? ".unpack::16b" : "") + ".b32 [%0], " + registers(1, regs) + ";\" ::\"r\"(" +
                address + "),\n      " + operands("r", array, regs) + "\n      : \"memory\");\n";
      }
      done += n;
      at += regs;
    }
  }
  if (!load) text += "  asm volatile(\"tcgen05.wait::st.sync.aligned;\" ::: \"memory\");\n";
  return Generated{name, text + "}\n"};
}

Result<Generated> mma(const Arch& arch, const Call* c) {
  std::optional<Tcgen05MmaCall> call = tcgen05_mma_call(c);
  if (!call) return bad(arch, c);
  const Tcgen05MmaCall& m = *call;
  bool masked = !m.masks.empty(), integers = arch.suffix == 'a' && (arch.number == 100 || arch.number == 101 || arch.number == 110);
  if (m.kind.empty() || (m.kind == "i8" && !integers)) return unsupported(arch, "there is no " + m.what);
  if (masked && (m.pair || m.weight_stationary))
    return unsupported(arch, "there is no " + m.what + " that masks lanes of " + (m.pair ? "a pair" : "its .ws form"));
  if (m.weight_stationary && m.pair) return unsupported(arch, "there is no " + m.what + " by a pair in its .ws form");
  std::string name = "tcgen05_mma_" + m.kind + (m.weight_stationary ? "_ws" : "") + (m.ts ? "_ts" : "_ss") + pair_suffix(m.pair) +
                     (masked ? "_masked" : "");
  std::string text = "// d = a * b + (keep ? d : 0) in tensor memory, begun by one thread of the warp.\n";
  text += "__device__ __forceinline__ void " + name + "(unsigned d, " + (m.ts ? "unsigned" : "unsigned long long") +
          " a, unsigned long long b, unsigned instruction, int keep";
  if (m.is_scaled) text += ", unsigned scale_a, unsigned scale_b";
  if (masked) text += ", int mask0, int mask1, int mask2, int mask3";
  std::string instruction = m.mnemonic() + " [%0], " + (m.ts ? "[%1]" : "%1") + ", %2, %3" +
                            (m.is_scaled ? ", [%5], [%6]"
                             : masked    ? ", {%5, %6, %7, %8}"
                                         : "") +
                            ", keep" + (m.weight_stationary ? ", 0" : "") + ";";
  text +=
      ") {\n  asm volatile(\n      \"{\\n\"\n      \".reg .pred leader, keep;\\n\"\n      \"elect.sync _|leader, 0xFFFFFFFF;\\n\"\n"
      "      \"setp.ne.b32 keep, %4, 0;\\n\"\n      \"@leader " +
      instruction + "\\n\"\n      \"}\" ::\"r\"(d),\n      \"" + (m.ts ? "r" : "l") + "\"(a), \"l\"(b), \"r\"(instruction), \"r\"(keep)" +
      (m.is_scaled ? ", \"r\"(scale_a), \"r\"(scale_b)" : "") + (masked ? ", \"r\"(mask0), \"r\"(mask1), \"r\"(mask2), \"r\"(mask3)" : "") +
      "\n      : \"memory\");\n}\n";
  return Generated{name, text};
}

// tcgen05.commit: the barrier counts an arrival when the matrix instructions begun so far are done.
Generated commit(const Call* c) {
  bool pair = is_pair(c);
  std::string name = "tcgen05_commit" + pair_suffix(pair);
  std::string text = "// The barrier counts an arrival when the matrix instructions begun so far are done" +
                     std::string(pair ? ", in both blocks of the pair" : "") + ".\n__device__ __forceinline__ void " + name +
                     "(void* barrier) {\n  asm volatile(\n      \"{\\n\"\n      \".reg .pred leader;\\n\"\n"
                     "      \"elect.sync _|leader, 0xFFFFFFFF;\\n\"\n      \"@leader tcgen05.commit." +
                     group(pair) + ".mbarrier::arrive::one.shared::cluster" + (pair ? ".multicast::cluster" : "") + ".b64 [%0]" +
                     (pair ? ", %1" : "") + ";\\n\"\n      \"}\" ::\"r\"(shared_address(barrier))" + (pair ? ", \"h\"((short)3)" : "") +
                     "\n      : \"memory\");\n}\n";
  return {name, text};
}

// tcgen05.cp of block scales: 32 rows of 128 bits, to all four warps' lanes.
Generated copy(const Call* c) {
  bool pair = is_pair(c);
  std::string name = "tcgen05_copy_scales" + pair_suffix(pair);
  std::string text =
      "// Copies 32 rows of 16 bytes from shared to tensor memory, to each quarter of the lanes, begun by one thread of the warp.\n"
      "__device__ __forceinline__ void " +
      name +
      "(const void* from, unsigned to) {\n"
      "  unsigned long long rows = tcgen05_descriptor(from, 0, 8, 0, 0, 0);  // 128 bytes from 8 rows to the next\n"
      "  asm volatile(\n      \"{\\n\"\n      \".reg .pred leader;\\n\"\n      \"elect.sync _|leader, 0xFFFFFFFF;\\n\"\n"
      "      \"@leader tcgen05.cp." +
      group(pair) + ".32x128b.warpx4 [%0], %1;\\n\"\n      \"}\" ::\"r\"(to),\n      \"l\"(rows)\n      : \"memory\");\n}\n";
  return {name, text};
}

}  // namespace

Result<Generated> generate_tcgen05(const Arch& arch, const Call* c) {
  if (!arch.has_tcgen05()) {
    return unsupported(arch, "there is no tensor memory for '" + std::string(c->name) + "'", "it needs sm_100a or one of its likes");
  }
  size_t n = c->args.size();
  switch (c->op) {
    case Op::tl_ptx_init_tensor_memory:
    case Op::tl_ptx_deallocate_tensor_memory:
      if (n != 2) return bad(arch, c);
      return allocate(c);
    case Op::tl_tcgen05_ld:
    case Op::tl_tcgen05_st: return move(arch, c);
    case Op::tl_tcgen05_mma_arrive:
      if (n != 1) return bad(arch, c);
      return commit(c);
    case Op::tl_ptx_tcgen05_cp_warpx4:
      if (n != 3) return bad(arch, c);
      return copy(c);
    case Op::tl_ptx_tcgen05_sf_warp_transpose:
      if (n != 1) return bad(arch, c);
      return Generated{"transpose_scales", ""};
    case Op::tl_initialize_tcgen05_descriptor:
      if (n != 7 || !c->args[0]->as<Load>()) return bad(arch, c);
      return Generated{"tcgen05_descriptor", ""};
    case Op::tl_tcgen05_before_thread_sync: return Generated{"tcgen05_fence_before", ""};
    case Op::tl_tcgen05_after_thread_sync: return Generated{"tcgen05_fence_after", ""};
    default: return mma(arch, c);
  }
}

}  // namespace kiln::cuda
