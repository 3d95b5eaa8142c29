#include "backends/sim/tensor_calls.h"

#include "backends/sim/operands.h"
#include "intrinsics/fragments.h"
#include "intrinsics/matrix_calls.h"

namespace kiln::sim {

using namespace ir;
using namespace intrinsics;
using emit::Prec;

namespace {

class TensorCall {
 public:
  TensorCall(WarpPrinter& p, const Call* c, const WarpPrinter::Context& context) : p_(p), lane_(p.lane), c_(c), context_(context) {}

  void print() {
    switch (c_->op) {
      case Op::tl_tcgen05_before_thread_sync:
      case Op::tl_tcgen05_after_thread_sync: return;  // barriers order enough here
      case Op::tl_ptx_init_tensor_memory:
      case Op::tl_ptx_deallocate_tensor_memory: return block([&] { allocation(); });
      case Op::tl_tcgen05_ld:
      case Op::tl_tcgen05_st: return block([&] { move(); });
      case Op::tl_tcgen05_mma_arrive: return block([&] { commit(); });
      case Op::tl_ptx_tcgen05_cp_warpx4: return block([&] { copy_scales(); });
      case Op::tl_ptx_tcgen05_sf_warp_transpose: return block([&] { transpose_scales(); });
      case Op::tirx_tvm_fill_fragment: return block([&] { fill(); });
      case Op::tirx_tvm_load_matrix_sync:
      case Op::tirx_tvm_store_matrix_sync: return block([&] { move_fragment(); });
      case Op::tirx_tvm_mma_sync:
      case Op::tirx_tvm_bmma_sync: return block([&] { fragment_product(); });
      default: return block([&] { mma(); });
    }
  }

 private:
  void block(auto&& f) {
    lane_.out.open("");
    lane_.names.push();
    f();
    lane_.names.pop();
    lane_.out.close();
  }
  void line(std::string_view function, const std::string& args) {
    lane_.out.line("sim->" + std::string(function) + "(w, " + p_.mask_text(context_) + ", " + args + lane_.site() + ");");
  }
  // What one lane begins: the first of those that are here, as the printed CUDA elects one.
  void lane_line(std::string_view function, const std::string& args) {
    lane_.out.line("sim->" + std::string(function) + "(w, " + first() + ", " + args + lane_.site() + ");");
  }
  std::string first() const { return "__builtin_ctz(" + p_.mask_text(context_) + ")"; }
  std::string form(const std::string& mnemonic) { return "w->forms[" + std::to_string(lane_.tables.form(mnemonic)) + "]"; }

  // What is at a place that lanes agree on: of the first lane.
  std::string at(Operands& o, std::string_view name, std::string_view type, const Operand& x) {
    return "*(" + std::string(type) + "*)" + o.lanes(name, x) + ".at[" + first() + "]";
  }
  static bool is_zero(const Expr* e) {
    auto* i = e ? e->as<IntImm>() : nullptr;
    return !e || (i && i->value == 0);
  }
  // An address in tensor memory: a word in memory that holds it, and a column that is added.
  std::string tensor_address(Operands& o, std::string_view name, const Operand& x) {
    std::string base = at(o, name, "const uint32_t", {x.pointer, nullptr});
    return is_zero(x.offset) ? base : base + " + (uint32_t)(" + o.agreed("column", "uint32_t", x.offset) + ")";
  }
  // The descriptor of shared memory that is so many bytes further on.
  std::string descriptor(Operands& o, std::string_view name, const Operand& x) {
    std::string base = at(o, name, "const uint64_t", {x.pointer, nullptr});
    return is_zero(x.offset) ? base : base + " + ((uint64_t)(" + o.agreed("offset", "uint64_t", x.offset) + ") >> 4)";
  }

  void allocation() {
    bool frees = c_->op == Op::tl_ptx_deallocate_tensor_memory;
    Operands o(p_, context_);
    std::string address = o.lanes("address", {c_->args[0], nullptr}) + ".at[" + first() + "]";
    std::string columns = o.agreed("columns", "int32_t", c_->args[1]);
    o.begin();
    if (frees) return line("tcgen05_dealloc", "*(const uint32_t*)" + address + ", " + columns);
    line("tcgen05_alloc", "(uint32_t*)" + address + ", " + columns);
  }

  // Bits of a row, repetitions, pack, address, column, lanes (32 when left out), registers: in as many moves as there are powers of two.
  void move() {
    bool load = c_->op == Op::tl_tcgen05_ld;
    int64_t bits = int_arg(c_, 0), count = int_arg(c_, 1), packs = int_arg(c_, 2), lanes = c_->args.size() == 7 ? int_arg(c_, 5) : 32;
    bool whole = bits == 32;
    int64_t registers_each = whole ? 1 : bits / 64, columns_each = bits / 32, most = 128 / registers_each;
    Operands o(p_, context_);
    std::string address = "(uint32_t)(" + o.agreed("address", "uint32_t", c_->args[3]) + ")";
    if (!is_zero(c_->args[4])) address += " + (uint32_t)(" + o.agreed("column", "uint32_t", c_->args[4]) + ")";
    std::string r = o.lanes("registers", {c_->args.back(), nullptr});
    o.begin();
    std::string shape = whole ? "32x32b" : "16x" + std::to_string(bits) + "b";
    int64_t moved = 0;  // registers, by the move before
    for (int half = 0; half < (whole ? 1 : lanes / 16); ++half) {
      for (int64_t done = 0, n; done < count; done += n) {
        for (n = most; n > count - done;) n /= 2;
        int64_t offset = (int64_t{half} << 20) + done * columns_each;
        std::string name = std::string("tcgen05.") + (load ? "ld" : "st") + ".sync.aligned." + shape + ".x" + std::to_string(n) +
                           (packs ? load ? ".pack::16b" : ".unpack::16b" : "") + ".b32";
        if (moved)
          lane_.out.line("for (int lane = 0; lane < 32; ++lane) " + r + ".at[lane] = (char*)" + r + ".at[lane] + " +
                         std::to_string(4 * moved) + ";");
        line("tcgen05_move", form(name) + ", " + address + (offset ? " + " + std::to_string(offset) : "") + ", &" + r);
        moved = n * registers_each;
      }
    }
  }

  void commit() {
    Operands o(p_, context_);
    std::string barrier = o.lanes("barrier", {c_->args[0], nullptr});
    o.begin();
    lane_line("tcgen05_commit", barrier + ".at[" + first() + "], " + (is_pair(c_) ? "3" : "0"));
  }

  // 32 rows of 16 bytes, eight together, to each quarter of the lanes.
  void copy_scales() {
    Operands o(p_, context_);
    std::string from = o.lanes("from", {c_->args[0], nullptr}), to = tensor_address(o, "to", {c_->args[1], c_->args[2]});
    o.begin();
    std::string rows = "tcgen05_descriptor(sim_shared_address(w, " + from + ".at[" + first() + "]), 0, 8, 0, 0, 0)";
    lane_line("tcgen05_cp",
              form(std::string("tcgen05.cp.cta_group::") + (is_pair(c_) ? "2" : "1") + ".32x128b.warpx4") + ", " + to + ", " + rows);
  }
  // 4 rows of 32 words to 32 rows of 4.
  void transpose_scales() {
    Operands o(p_, context_);
    std::string words = o.lanes("words", {c_->args[0], nullptr}) + ".at[" + first() + "]";
    std::string rows = lane_.names.fresh("rows");
    o.begin();
    lane_.out.line("uint32_t " + rows + "[128];");
    auto element = [&](const char* kind) {
      std::string base = lane_.checked ? "*(uint32_t*)sim->access(w, i / 4, " : "((uint32_t*)";
      return base + words + (lane_.checked ? std::string(", i, 0, 4, ") + kind + lane_.site() + ")" : ")[i]");
    };
    lane_.out.line("for (int i = 0; i < 128; ++i) " + rows + "[i] = " + element("SIM_READ") + ";");
    if (lane_.checked) line("sync_warp", "0xFFFFFFFFu");
    lane_.out.line("for (int i = 0; i < 128; ++i) " + element("SIM_WRITE") + " = " + rows + "[i % 4 * 32 + i / 4];");
  }

  void mma() {
    std::optional<Tcgen05MmaCall> m = tcgen05_mma_call(c_);
    Operands o(p_, context_);
    std::string operands =
        ".d = " + tensor_address(o, "d", m->d) + ", .a = " + (m->ts ? tensor_address(o, "a", m->a) : descriptor(o, "a", m->a)) +
        ", .b = " + descriptor(o, "b", m->b) + ", .instruction = (uint32_t)" + o.agreed("instruction", "uint32_t", m->instruction) +
        ", .keep = (" + o.agreed("keep", "int32_t", m->keep) + ") != 0";
    if (m->ts) operands += ", .a_in_tensor_memory = 1";
    if (m->is_scaled)
      operands += ", .scale_a = " + tensor_address(o, "scale_a", m->scale_a) + ", .scale_b = " + tensor_address(o, "scale_b", m->scale_b);
    if (!m->masks.empty()) {
      operands += ", .disabled = {";
      for (size_t i = 0; i < m->masks.size(); ++i)
        operands += (i ? ", (uint32_t)" : "(uint32_t)") + o.agreed("disabled", "uint32_t", m->masks[i]);
      operands += "}";
    }
    o.begin();
    lane_line("tcgen05_mma", form(m->mnemonic()) + ", &(sim_tcgen05_mma){" + operands + "}");
  }

  // Fragments: see intrinsics::lower_fragments for the arguments.
  void fill() {
    size_t n = c_->args.size();
    Fragment f{text_arg(c_, n - 3)[0], std::string(text_arg(c_, n - 2)), "", std::string(text_arg(c_, n - 1))};
    Operands o(p_, context_);
    std::string r = o.lanes("fragment", {c_->args[0], c_->args[4]});
    std::string type = f.type == "f64" ? "double" : f.type == "s32" ? "int32_t" : "float", value = o.array("value", type, c_->args[5]);
    o.begin();
    p_.open_lanes(context_.mask);
    lane_.out.line("for (int i = 0; i < " + std::to_string(f.registers()) + "; ++i) ((" + type + "*)" + r + ".at[lane])[i] = " + value +
                   "[lane];");
    p_.close_lanes();
  }
  void move_fragment() {
    bool load = c_->op == Op::tirx_tvm_load_matrix_sync;
    size_t n = c_->args.size();
    std::string role = load ? std::string(text_arg(c_, n - 3)) : "d";
    std::string name = std::string("wmma.") + (load ? "load." : "store.") + role + ".sync.aligned." + fragment_layout(text_arg(c_, 7)) +
                       "." + std::string(text_arg(c_, n - 2)) + "." + std::string(text_arg(c_, n - 1));
    Operands o(p_, context_);
    std::string r = o.lanes("fragment", {c_->args[0], c_->args[4]}),
                memory = o.lanes("memory", {c_->args[5], nullptr}) + ".at[" + first() + "]";
    std::string stride = o.agreed("stride", "int64_t", c_->args[6]);
    o.begin();
    if (load) return line("wmma_load", form(name) + ", &" + r + ", " + memory + ", " + stride);
    line("wmma_store", form(name) + ", " + memory + ", &" + r + ", " + stride);
  }
  void fragment_product() {
    auto word = [&](size_t i) { return std::string(text_arg(c_, i)); };
    std::string bits = c_->op == Op::tirx_tvm_bmma_sync ? ".xor.popc" : "", d = word(13);
    std::string name = "wmma.mma" + bits + ".sync.aligned." + word(9) + "." + word(10) + "." + word(8) + "." + d + "." + word(11) + "." +
                       word(12) + "." + d;
    Operands o(p_, context_);
    std::string list;
    constexpr std::string_view kNames[] = {"d", "a", "b", "c"};
    for (size_t i = 0; i < 4; ++i) list += ", &" + o.lanes(kNames[i], {c_->args[2 * i], c_->args[2 * i + 1]});
    o.begin();
    line("wmma_mma", form(name) + list);
  }

  WarpPrinter& p_;
  LanePrinter& lane_;
  const Call* const c_;
  const WarpPrinter::Context& context_;
};

}  // namespace

bool is_tensor_call(const Call* c) {
  switch (c->op) {
    case Op::tl_ptx_init_tensor_memory:
    case Op::tl_ptx_deallocate_tensor_memory:
    case Op::tl_tcgen05_ld:
    case Op::tl_tcgen05_st:
    case Op::tl_tcgen05_mma_arrive:
    case Op::tl_tcgen05_before_thread_sync:
    case Op::tl_tcgen05_after_thread_sync:
    case Op::tl_ptx_tcgen05_mma_ss:
    case Op::tl_ptx_tcgen05_mma_ts:
    case Op::tl_ptx_tcgen05_mma_blockscaled_ss:
    case Op::tl_ptx_tcgen05_cp_warpx4:
    case Op::tl_ptx_tcgen05_sf_warp_transpose:
    case Op::tirx_tvm_fill_fragment:
    case Op::tirx_tvm_load_matrix_sync:
    case Op::tirx_tvm_store_matrix_sync:
    case Op::tirx_tvm_mma_sync:
    case Op::tirx_tvm_bmma_sync: return true;
    default: return false;
  }
}

std::string tensor_call_fault(const Call* c) {
  size_t n = c->args.size();
  switch (c->op) {
    case Op::tl_tcgen05_ld:
    case Op::tl_tcgen05_st: {
      if (n != 6 && n != 7) return "it takes 6 or 7 arguments";
      int64_t bits = int_arg(c, 0), count = int_arg(c, 1), packs = int_arg(c, 2), lanes = n == 7 ? int_arg(c, 5) : 32;
      bool whole = bits == 32 && lanes == 32, power = count > 0 && (count & (count - 1)) == 0;
      bool fits = (whole || bits == 64 || bits == 128 || bits == 256) && (lanes == 16 || lanes == 32) && packs >= 0 && count > 0 &&
                  count * bits / 32 <= 512 && (power || (whole && !packs)) && (whole || count <= 128 / (bits / 64));
      return fits ? "" : "there is no such move of tensor memory";
    }
    case Op::tl_ptx_tcgen05_mma_ss:
    case Op::tl_ptx_tcgen05_mma_ts:
    case Op::tl_ptx_tcgen05_mma_blockscaled_ss: {
      auto m = tcgen05_mma_call(c);
      return m && !m->kind.empty() ? "" : "there is no such product";
    }
    case Op::tirx_tvm_fill_fragment: {
      if (n != 9) return "its fragment has no known shape";
      std::string_view type = text_arg(c, 8);
      return type == "f32" || type == "s32" || type == "f64" ? "" : "it fills accumulators of float32, float64 and int32";
    }
    case Op::tirx_tvm_load_matrix_sync:
    case Op::tirx_tvm_store_matrix_sync:
      return n == 11 && !fragment_layout(text_arg(c, 7)).empty() ? "" : "its fragment has no known shape";
    case Op::tirx_tvm_mma_sync:
    case Op::tirx_tvm_bmma_sync: return n == 14 ? "" : "its fragments have no known shapes";
    default: return "";
  }
}

bool print_tensor_call(WarpPrinter& p, const Call* c, const WarpPrinter::Context& context) {
  if (!is_tensor_call(c)) return false;
  TensorCall(p, c, context).print();
  return true;
}

}  // namespace kiln::sim
