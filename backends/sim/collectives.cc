// Prints what the warp does as one: operands into arrays, then a call of the runtime.
#include <algorithm>

#include "backends/sim/atomics.h"
#include "backends/sim/operands.h"
#include "backends/sim/reductions.h"
#include "backends/sim/tensor_calls.h"
#include "backends/sim/warp_printer.h"
#include "emit/functions.h"
#include "intrinsics/arguments.h"
#include "intrinsics/matrix_calls.h"

namespace kiln::sim {

using namespace ir;
using namespace intrinsics;
using emit::Prec;

namespace {

// Whether warps wait for others, or for asynchronous work.
bool synchronises(std::string_view function) {
  static constexpr std::string_view kAll[] = {"barrier_sync",         "barrier_reduce", "sync_warp", "cluster_wait", "grid_sync",
                                              "mbarrier_wait_parity", "cp_async_wait",  "bulk_wait", "wgmma_wait"};
  return std::find(std::begin(kAll), std::end(kAll), function) != std::end(kAll);
}

class Collective {
 public:
  Collective(WarpPrinter& p, const Call* c, const Var* result, const WarpPrinter::Context& context)
      : p_(p), lane_(p.lane), c_(c), result_(result), context_(context) {}

  void print() {
    if (is_template_call(c_)) return reduction();
    if (print_tensor_call(p_, c_, context_)) return;
    switch (c_->op) {
      case Op::tirx_tvm_storage_sync: return storage_sync();
      case Op::tirx_cuda__cta_sync: return line("barrier_sync", "0, 0");
      case Op::tl_sync_warp: return agreeing("sync_warp", {}, {c_->args.empty() ? nullptr : c_->args[0]});
      case Op::tirx_cuda__warp_sync: return line("sync_warp", "0xFFFFFFFFu");
      case Op::tl_syncthreads_count:
      case Op::tl_syncthreads_and:
      case Op::tl_syncthreads_or:
      case Op::tirx_cuda__syncthreads_and:
      case Op::tirx_cuda__syncthreads_or: return barrier_reduce();
      case Op::tl_named_barrier_arrive: return agreeing("barrier_arrive", {}, {c_->args[0], c_->args[1]});
      case Op::tl_cluster_arrive: return line("cluster_arrive", "SIM_RELEASE");
      case Op::tl_cluster_arrive_relaxed: return line("cluster_arrive", "SIM_RELAXED");
      case Op::tl_cluster_wait: return line("cluster_wait", "");
      case Op::tl_cluster_sync:
      case Op::tirx_cuda__cluster_sync: line("cluster_arrive", "SIM_RELEASE"); return line("cluster_wait", "");
      case Op::tl_sync_grid:
      case Op::tirx_cuda__grid_sync: return line("grid_sync", "");
      case Op::tl_fence_proxy_async: return line("fence", "SIM_FENCE_PROXY_ASYNC, SIM_SCOPE_CTA");
      case Op::tl_ptx_fence_barrier_init: return line("fence", "SIM_FENCE_MBARRIER_INIT, SIM_SCOPE_CLUSTER");
      case Op::tirx_cuda__thread_fence: return line("fence", "SIM_FENCE_THREAD, SIM_SCOPE_GPU");
      case Op::tirx_cuda__nano_sleep: return agreeing("sleep", {}, {c_->args[0]});
      case Op::tl_set_max_nreg: return line("set_max_registers", lane_.str(c_->args[0]) + ", " + lane_.str(c_->args[1]));
      case Op::tl_mbarrier_wait_parity: return agreeing("mbarrier_wait_parity", {0}, {c_->args[0], c_->args[1]});
      case Op::tirx_ptx_commit_group: return line("cp_async_commit", "");
      case Op::tirx_ptx_wait_group: return agreeing("cp_async_wait", {}, {c_->args[0]});
      case Op::tl_tma_store_arrive: return line("bulk_commit", "");
      case Op::tl_tma_store_wait: {
        std::string read = c_->args.size() > 1 ? lane_.str(c_->args[1]) : "1";
        return line("bulk_wait", lane_.str(c_->args[0]) + ", " + read);
      }
      case Op::tl_warpgroup_arrive: return line("wgmma_fence", "");
      case Op::tl_warpgroup_commit_batch: return line("wgmma_commit", "");
      case Op::tl_warpgroup_wait:
      case Op::tl_wait_wgmma: return line("wgmma_wait", lane_.str(c_->args[0]));
      case Op::tl_tl_shuffle_elect: return elect();
      case Op::tl_any_sync:
      case Op::tirx_cuda__any_sync: return vote("SIM_VOTE_ANY");
      case Op::tl_all_sync: return vote("SIM_VOTE_ALL");
      case Op::tl_ballot_sync:
      case Op::tirx_cuda__ballot_sync: return vote("SIM_VOTE_BALLOT");
      case Op::tl_activemask:
      case Op::tirx_cuda____activemask:
      case Op::tirx_tvm_warp_activemask: return same_result(p_.mask_text(context_));
      case Op::tl_match_any_sync: return match_any();
      case Op::tl_match_all_sync: return match_all();
      case Op::tl_shfl_sync:
      case Op::tirx_cuda____shfl_sync:
      case Op::tirx_tvm_warp_shuffle: return shuffle("SIM_SHFL_IDX");
      case Op::tl_shfl_xor_sync:
      case Op::tirx_cuda____shfl_xor_sync:
      case Op::tirx_tvm_warp_shuffle_xor: return shuffle("SIM_SHFL_XOR");
      case Op::tl_shfl_up_sync:
      case Op::tirx_cuda____shfl_up_sync:
      case Op::tirx_tvm_warp_shuffle_up: return shuffle("SIM_SHFL_UP");
      case Op::tl_shfl_down_sync:
      case Op::tirx_cuda____shfl_down_sync:
      case Op::tirx_tvm_warp_shuffle_down: return shuffle("SIM_SHFL_DOWN");
      case Op::tirx_cuda__reduce_add_sync_u32: return redux("SIM_ADD");
      case Op::tirx_cuda__reduce_min_sync_u32: return redux("SIM_MIN");
      case Op::tl_warp_reduce_sum:
      case Op::tl_warp_reduce_max:
      case Op::tl_warp_reduce_min:
      case Op::tl_warp_reduce_bitand:
      case Op::tl_warp_reduce_bitor: return reduction();
      case Op::tirx_ptx_mma:
      case Op::tl_ptx_mma_sm70:
      case Op::tirx_ptx_mma_sp:
      case Op::tl_ptx_mma_block_scale: return mma();
      case Op::tl_ptx_ldmatrix:
      case Op::tirx_ptx_ldmatrix:
      case Op::tl_ptx_stmatrix: return matrix_move();
      case Op::tl_ptx_wgmma_ss:
      case Op::tl_ptx_wgmma_rs:
      case Op::tl_ptx_wgmma_sp_ss:
      case Op::tl_ptx_wgmma_sp_rs: return wgmma();
      default: return external();
    }
  }

 private:
  // sim->function(w, mask, args, site);
  void line(std::string_view function, const std::string& args) { lane_.out.line(call(function, args) + ";"); }
  std::string call(std::string_view function, const std::string& args, std::string mask = "") {
    if (synchronises(function)) lane_.tables.synchronising.insert(lane_.next_line());
    if (mask.empty()) mask = p_.mask_text(context_);
    return "sim->" + std::string(function) + "(w, " + mask + (args.empty() ? "" : ", " + args) + lane_.site() + ")";
  }
  void block(auto&& f) {
    lane_.out.open("");
    lane_.names.push();
    f();
    lane_.names.pop();
    lane_.out.close();
  }
  std::string value_type(const Expr* e) { return e->dtype.is_handle() ? "void*" : lane_.type(e->dtype); }

  // An operation whose arguments the lanes have to agree on: once for each set of lanes that do. Arguments at `pointers` are addresses.
  void agreeing(std::string_view function, const std::vector<size_t>& pointers, const std::vector<const Expr*>& args) {
    auto is_pointer = [&](size_t i) { return std::find(pointers.begin(), pointers.end(), i) != pointers.end(); };
    bool all = true;
    for (const Expr* a : args) all &= !a || p_.same(place_index(a));
    if (all) {
      std::string list;
      for (size_t i = 0; i < args.size(); ++i) {
        std::string text = !args[i] ? "0xFFFFFFFFu" : is_pointer(i) ? lane_.address(args[i]) : lane_.str(args[i]);
        list += (i ? ", " : "") + text;
      }
      return line(function, list);
    }
    block([&] {
      Operands operands(p_, context_);
      std::vector<std::string> names;
      for (size_t i = 0; i < args.size(); ++i) {
        names.push_back(is_pointer(i) ? operands.lanes("place", Operand{args[i], nullptr}) + ".at"
                                      : operands.array("value", value_type(args[i]), args[i]));
      }
      operands.begin();
      lane_.out.open("for (sim_mask left = " + p_.mask_text(context_) + ", agreed; left; left &= ~agreed)");
      lane_.out.line("const int first = __builtin_ctz(left);");
      lane_.out.line("agreed = 0;");
      std::string equal, list;
      for (const std::string& n : names) {
        equal += (equal.empty() ? "" : " && ") + n + "[lane] == " + n + "[first]";
        list += (list.empty() ? "" : ", ") + n + "[first]";
      }
      lane_.out.line("for (int lane = 0; lane < 32; ++lane) agreed |= (sim_mask)((left >> lane & 1) && " + equal + ") << lane;");
      lane_.out.line(call(function, list, "agreed") + ";");
      lane_.out.close();
    });
  }
  // What an address depends on: the index of the element, for a load that stands for one.
  static const Expr* place_index(const Expr* e) {
    auto* l = e->as<Load>();
    return l ? l->indices[0] : e;
  }

  void storage_sync() {
    if (text_arg(c_, 0) == "warp") return line("sync_warp", "0xFFFFFFFFu");
    bool named = c_->args.size() == 3 && !c_->args[1]->dtype.is_bool();
    if (!named) return line("barrier_sync", "0, 0");
    agreeing("barrier_sync", {}, {c_->args[1], c_->args[2]});
  }

  void same_result(const std::string& value) {
    if (result_)
      p_.declare_same(result_, lane_.type(result_->dtype), value);
    else
      lane_.out.line(value + ";");
  }
  // A value for the warp from operands that need a block: declared before, set in it.
  void same_result_of(auto&& f) {
    std::string name = result_ ? lane_.names.declare(result_) : "";
    if (result_) lane_.out.line(lane_.type(result_->dtype) + " " + name + ";");
    block([&] { lane_.out.line((result_ ? name + " = " : "") + f() + ";"); });
    if (result_) p_.adopt_same(result_);
  }
  // A value for each lane.
  std::string result_array() {
    if (!result_) return "";
    p_.declare_array(result_);
    std::string name = lane_.names.of(result_);
    return name.substr(0, name.find('['));
  }

  void barrier_reduce() {
    bool count = c_->op == Op::tl_syncthreads_count, all = c_->op == Op::tl_syncthreads_and || c_->op == Op::tirx_cuda__syncthreads_and;
    same_result_of([&] {
      Operands o(p_, context_);
      std::string bits = o.bits("predicates", c_->args[0]);
      o.begin();
      return call("barrier_reduce", std::string("0, 0, ") + (count ? "SIM_BAR_COUNT" : all ? "SIM_BAR_AND" : "SIM_BAR_OR") + ", " + bits);
    });
  }
  void vote(std::string_view mode) {
    same_result_of([&] {
      Operands o(p_, context_);
      std::string members = o.agreed("members", "sim_mask", c_->args[0]), bits = o.bits("predicates", c_->args[1]);
      o.begin();
      return call("vote", std::string(mode) + ", " + members + ", " + bits);
    });
  }

  // One lane of the first warp in each group of so many threads (0: of the block).
  void elect() {
    if (!result_) return;
    int64_t threads = int_arg(c_, 0);
    std::string warp = threads >= 32 ? "w->warp % " + std::to_string(threads / 32) : "w->warp";
    p_.declare_bits(result_, (threads == 32 ? "" : warp + " != 0 ? 0 : ") + call("elect", "0xFFFFFFFFu"));
  }

  void shuffle(std::string_view mode) {
    const Expr *members = c_->args[0], *value = c_->args[1], *source = c_->args[2], *width = c_->args[3];
    std::string out = result_array();
    block([&] {
      Operands o(p_, context_);
      std::string m = o.agreed("members", "sim_mask", members), in = o.array("value", lane_.type(value->dtype), value),
                  from = o.array("source", "int32_t", source), w = o.agreed("width", "int32_t", width);
      if (out.empty()) out = in;
      o.begin();
      line("shuffle", std::string(mode) + ", " + m + ", " + out + ", " + in + ", " + std::to_string(value->dtype.element_bytes()) + ", " +
                          from + ", " + w);
    });
  }
  void match_any() {
    std::string out = result_array();
    block([&] {
      Operands o(p_, context_);
      std::string m = o.agreed("members", "sim_mask", c_->args[0]), in = o.array("value", lane_.type(c_->args[1]->dtype), c_->args[1]);
      o.begin();
      if (!out.empty()) {
        line("match_any", m + ", (sim_mask*)" + out + ", " + in + ", " + std::to_string(c_->args[1]->dtype.element_bytes()));
      }
    });
  }
  void match_all() {
    same_result_of([&] {
      Operands o(p_, context_);
      std::string m = o.agreed("members", "sim_mask", c_->args[0]), in = o.array("value", lane_.type(c_->args[1]->dtype), c_->args[1]);
      o.begin();
      return call("match_all", m + ", " + in + ", " + std::to_string(c_->args[1]->dtype.element_bytes()));
    });
  }
  void redux(std::string_view op) {
    std::string out = result_array();
    block([&] {
      Operands o(p_, context_);
      std::string m = o.agreed("members", "sim_mask", c_->args[0]), in = o.array("value", lane_.type(c_->args[1]->dtype), c_->args[1]);
      o.begin();
      line("reduce", std::string(op) + ", " + runtime_type(c_->args[1]->dtype) + ", " + m + ", " + (out.empty() ? in : out) + ", " + in);
    });
  }

  // Reductions and scans of tile programs: a helper that the tables get.
  void reduction() {
    std::optional<Reduction> r = reduction_of(c_, lane_.checked);
    if (!r) return lane_.out.line("#error no such reduction");  // the check refuses it
    lane_.tables.helpers[r->name] = r->text;
    std::string out = r->has_result ? result_array() : "";
    block([&] {
      Operands o(p_, context_);
      std::string args;
      std::string value;
      for (const Expr* e : r->values) args += ", " + (value = o.array("value", lane_.type(e->dtype), e));
      for (const Expr* e : r->agreed) args += ", " + o.agreed("argument", e->dtype.is_handle() ? "void*" : lane_.type(e->dtype), e);
      o.begin();
      lane_.out.line(r->name + "(w, " + p_.mask_text(context_) + args + r->constants + lane_.site() + ");");
      if (!out.empty()) {
        p_.open_lanes(context_.mask);
        lane_.out.line(out + "[lane] = " + value + "[lane];");
        p_.close_lanes();
      }
    });
  }

  std::string form(const std::string& mnemonic) { return "w->forms[" + std::to_string(lane_.tables.form(mnemonic)) + "]"; }

  void mma() {
    std::optional<MmaCall> m = mma_call(c_);
    block([&] {
      Operands o(p_, context_);
      std::string d = o.lanes("d", m->d), a = o.lanes("a", m->a), b = o.lanes("b", m->b);
      if (m->is_sparse()) {
        std::string e = o.lanes("metadata", m->metadata);
        o.begin();
        return line("mma_sparse",
                    form(m->mnemonic()) + ", &" + d + ", &" + a + ", &" + b + ", &" + d + ", &" + e + ", " + std::to_string(m->selector));
      }
      if (m->is_scaled()) {
        auto scales = [&](std::string_view name, const Expr* registers, const Expr* byte, const Expr* thread) {
          std::string r = o.lanes(name, Operand{registers, nullptr}), which = o.agreed("byte", "int32_t", byte);
          return ", &" + r + ", " + which + ", " + o.agreed("thread", "int32_t", thread);
        };
        std::string of_a = scales("scale_a", m->scale_a, m->byte_a, m->thread_a),
                    of_b = scales("scale_b", m->scale_b, m->byte_b, m->thread_b);
        o.begin();
        return line("mma_scaled", form(m->mnemonic()) + ", &" + d + ", &" + a + ", &" + b + ", &" + d + of_a + of_b);
      }
      o.begin();
      line("mma", form(m->mnemonic()) + ", &" + d + ", &" + a + ", &" + b + ", &" + d);
    });
  }

  void matrix_move() {
    std::optional<MatrixMoveCall> m = matrix_move_call(c_);
    block([&] {
      Operands o(p_, context_);
      std::string row = o.lanes("row", m->row);
      if (m->from.empty()) {
        std::string to = o.lanes("to", m->to);
        o.begin();
        return line("ldmatrix", form(m->mnemonic()) + ", &" + to + ", &" + row);
      }
      std::string registers = lane_.names.fresh("registers"), from = lane_.names.fresh("from");
      lane_.out.line("uint32_t " + registers + "[32][" + std::to_string(m->from.size()) + "];");
      lane_.out.line("sim_lanes " + from + ";");
      p_.lane_begin(context_.mask, std::vector<const Expr*>(m->from.begin(), m->from.end()));
      for (size_t i = 0; i < m->from.size(); ++i) {
        lane_.out.line(registers + "[lane][" + std::to_string(i) + "] = " + register_value(m->from[i]) + ";");
      }
      lane_.out.line(from + ".at[lane] = " + registers + "[lane];");
      p_.lane_end();
      o.begin();
      line("stmatrix", form(m->mnemonic()) + ", &" + row + ", &" + from);
    });
  }
  // 32 bits that a value is, or that are at an address.
  std::string register_value(const Expr* e) {
    if (e->dtype.is_handle()) return "*(const uint32_t*)" + lane_.str(e, Prec::kUnary);
    return "(uint32_t)" + lane_.str(e, Prec::kUnary);
  }

  void wgmma() {
    std::optional<WgmmaCall> m = wgmma_call(c_);
    // The operands of the instruction that are constants follow the mnemonic.
    std::string name = m->mnemonic() + " " + std::to_string(m->sign_a) + " " + std::to_string(m->sign_b) + " " +
                       std::to_string(m->order_a) + " " + std::to_string(m->order_b) + " " + std::to_string(m->selector);
    block([&] {
      Operands o(p_, context_);
      auto descriptor = [&](std::string_view what, const Operand& x) {
        std::string n = o.lanes(what, Operand{x.pointer, nullptr});
        auto* zero = x.offset ? x.offset->as<IntImm>() : nullptr;
        bool moved = x.offset && !(zero && zero->value == 0);
        std::string offset = moved ? " + (" + o.agreed("offset", "uint64_t", x.offset) + ")" : "";
        return "*(const uint64_t*)" + n + ".at[__builtin_ctz(" + p_.mask_text(context_) + ")]" + offset;
      };
      std::string d = o.lanes("d", m->d), b = descriptor("b", m->b), keep = o.agreed("keep", "int", m->keep), a, registers;
      if (m->ss)
        a = descriptor("a", m->a), registers = "0";
      else
        registers = "&" + o.lanes("a", m->a), a = "0";
      std::string metadata = m->is_sparse ? "&" + o.lanes("metadata", m->metadata) : "0";
      o.begin();
      line("wgmma", form(name) + ", &" + d + ", " + registers + ", " + a + ", " + b + ", " + keep + ", " + metadata);
    });
  }

  // Functions of CUDA by their names.
  void external() {
    std::string_view name = text_arg(c_, 0);
    if (name == "__syncthreads") return line("barrier_sync", "0, 0");
    if (name == "__syncwarp") return line("sync_warp", "0xFFFFFFFFu");
    if (name.starts_with("__threadfence")) return line("fence", "SIM_FENCE_THREAD, SIM_SCOPE_GPU");
    if (name == "__activemask") return same_result(p_.mask_text(context_));
    lane_.out.line("#error no such operation");  // the check refuses it
  }

  WarpPrinter& p_;
  LanePrinter& lane_;
  const Call* const c_;
  const Var* const result_;
  const WarpPrinter::Context& context_;
};

}  // namespace

void print_collective(WarpPrinter& p, const Call* c, const Var* result, const WarpPrinter::Context& context) {
  Collective(p, c, result, context).print();
}

}  // namespace kiln::sim
