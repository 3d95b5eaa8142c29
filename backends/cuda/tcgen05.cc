// tcgen05: tensor memory and the matrix instruction that one thread issues, on sm_100a and its likes (PTX ISA, "TensorCore 5th Generation
// Family Instructions"). A warp calls each helper; where the instruction is for one thread, the helper elects it.
#include "backends/cuda/generated.h"

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

// The instruction's kind for a format, or empty.
std::string kind_of(const std::string& type) {
  if (type == "f16" || type == "bf16") return "f16";
  if (type == "tf32" || type == "f32") return "tf32";
  if (type == "s8" || type == "u8") return "i8";
  for (const char* narrow : {"e4m3", "e5m2", "e2m3", "e3m2", "e2m1"}) {
    if (type == narrow) return "f8f6f4";
  }
  return "";
}

bool is_zero(const Call* c, size_t i) { return int_arg(c, i) == 0; }

// tcgen05.mma: format, a and its offset, b and its offset, sum and its column, instruction descriptor, keep, and for ss and ts four masks
// of lanes to leave alone; for block scales their two addresses and columns instead.
Result<Generated> mma(const Arch& arch, const Call* c) {
  bool ss = c->op == Op::tl_ptx_tcgen05_mma_ss, scaled = c->op == Op::tl_ptx_tcgen05_mma_blockscaled_ss, ts = !ss && !scaled;
  size_t expected = ss ? 15 : scaled ? 16 : 14;
  if (c->args.size() != expected) return bad(arch, c);
  std::string kind = kind_of(ptx_type(text_arg(c, 0)));
  bool ws = ss && int_arg(c, 13) == 1, pair = int_arg(c, expected - 1) == 1;
  bool masked = !scaled && !(is_zero(c, 9) && is_zero(c, 10) && is_zero(c, 11) && is_zero(c, 12));
  std::string what = "tcgen05.mma" + std::string(scaled ? " with block scales" : "") + " of " + std::string(text_arg(c, 0));
  if (kind.empty() || (scaled && kind != "f8f6f4")) return unsupported(arch, "there is no " + what);
  bool integers = arch.suffix == 'a' && (arch.number == 100 || arch.number == 101 || arch.number == 110);
  if (kind == "i8" && !integers) return unsupported(arch, "there is no " + what);
  if (masked && (pair || ws))
    return unsupported(arch, "there is no " + what + " that masks lanes of " + (pair ? "a pair" : "its .ws form"));
  if (ws && pair) return unsupported(arch, "there is no " + what + " by a pair in its .ws form");
  if (scaled) kind = "mxf8f6f4";
  std::string name = "tcgen05_mma_" + kind + (ws ? "_ws" : "") + (ts ? "_ts" : "_ss") + pair_suffix(pair) + (masked ? "_masked" : "");
  std::string text = "// d = a * b + (keep ? d : 0) in tensor memory, begun by one thread of the warp.\n";
  text += "__device__ __forceinline__ void " + name + "(unsigned d, " + (ts ? "unsigned" : "unsigned long long") +
          " a, unsigned long long b, unsigned instruction, int keep";
  if (scaled) text += ", unsigned scale_a, unsigned scale_b";
  if (masked) text += ", int mask0, int mask1, int mask2, int mask3";
  std::string instruction = "tcgen05.mma" + std::string(ws ? ".ws." : ".") + group(pair) + ".kind::" + kind +
                            (scaled ? ".block_scale" : "") + " [%0], " + (ts ? "[%1]" : "%1") + ", %2, %3" +
                            (scaled   ? ", [%5], [%6]"
                             : masked ? ", {%5, %6, %7, %8}"
                                      : "") +
                            ", keep" + (ws ? ", 0" : "") + ";";
  text +=
      ") {\n  asm volatile(\n      \"{\\n\"\n      \".reg .pred leader, keep;\\n\"\n      \"elect.sync _|leader, 0xFFFFFFFF;\\n\"\n"
      "      \"setp.ne.b32 keep, %4, 0;\\n\"\n      \"@leader " +
      instruction + "\\n\"\n      \"}\" ::\"r\"(d),\n      \"" + (ts ? "r" : "l") + "\"(a), \"l\"(b), \"r\"(instruction), \"r\"(keep)" +
      (scaled ? ", \"r\"(scale_a), \"r\"(scale_b)" : "") + (masked ? ", \"r\"(mask0), \"r\"(mask1), \"r\"(mask2), \"r\"(mask3)" : "") +
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
