// Barriers, mbarriers and asynchronous copies: PTX ISA 9.0, 9.7.9 (data movement) and 9.7.13 (synchronisation).
#include <fmt/format.h>

#include "backends/sim/shim/instructions.h"

namespace kiln::sim {

namespace {

constexpr std::string_view kCall = "kiln_text::api()";

// Calls a function of the text's Api with arguments that may have failed.
Result<std::string> call(std::string_view name, std::initializer_list<Result<std::string>> args) {
  std::string out = fmt::format("{}.{}(kiln_text::lane()", kCall, name);
  for (const Result<std::string>& a : args) {
    if (!a) return a.error();
    out += ", " + *a;
  }
  return out + ")";
}
Result<std::string> statement(Result<std::string> expression) {
  if (!expression) return expression;
  return *expression + ";";
}
std::string text(bool b) { return b ? "true" : "false"; }

Result<std::string> threads(const PtxStatement& s) { return s.operands.size() > 1 ? value(s, 1, "int") : Result<std::string>("0"); }

Result<std::string> bar_sync(InstructionContext&, const PtxStatement& s) {
  return statement(call("barrier_sync", {value(s, 0, "int"), threads(s)}));
}
Result<std::string> bar_arrive(InstructionContext&, const PtxStatement& s) {
  return statement(call("barrier_arrive", {value(s, 0, "int"), threads(s)}));
}
Result<std::string> bar_warp(InstructionContext&, const PtxStatement& s) { return statement(call("sync_warp", {value(s, 0, "unsigned")})); }
Result<std::string> cluster_arrive(InstructionContext&, const PtxStatement& s) {
  return statement(call("cluster_arrive", {text(has_part(s, "relaxed"))}));
}
Result<std::string> cluster_wait(InstructionContext&, const PtxStatement&) { return statement(call("cluster_wait", {})); }

// elect.sync d|p, mask; d may be _
Result<std::string> elect(InstructionContext&, const PtxStatement& s) {
  if (s.operands[0].kind != PtxOperand::Kind::kPair) return no_such_use(s);
  const PtxOperand &d = s.operands[0].items[0], &p = s.operands[0].items[1];
  auto leader = call("elect", {value(s, 1, "unsigned")}), flag = value(p);
  if (!leader || !flag) return no_such_use(s);
  std::string keep = d.kind == PtxOperand::Kind::kSink ? "" : fmt::format(" {} = ke;", name_of_register(d.text));
  return fmt::format("unsigned ke = {}; {} = ke == (unsigned)kiln_text::lane()->lane;{}", *leader, *flag, keep);
}

// mbarrier.init.shared::cta.b64 [a], count
Result<std::string> init(InstructionContext&, const PtxStatement& s) {
  return statement(call("mbarrier_init", {shared_address(s, 0), value(s, 1, "int")}));
}
Result<std::string> inval(InstructionContext&, const PtxStatement& s) { return statement(call("mbarrier_inval", {shared_address(s, 0)})); }
Result<std::string> expect_tx(InstructionContext&, const PtxStatement& s) {
  return statement(call("mbarrier_expect_tx", {shared_address(s, 0), value(s, 1, "int")}));
}
Result<std::string> complete_tx(InstructionContext&, const PtxStatement& s) {
  return statement(call("mbarrier_complete_tx", {shared_address(s, 0), value(s, 1, "int")}));
}
// mbarrier.arrive{.expect_tx} state, [a] {, count}; the state is left out or _ for barriers of other blocks
Result<std::string> arrive(InstructionContext&, const PtxStatement& s) {
  size_t at = s.operands[0].kind == PtxOperand::Kind::kAddress ? 0 : 1;
  bool expects = has_part(s, "expect_tx");
  auto amount = s.operands.size() > at + 1 ? value(s, at + 1, "int") : Result<std::string>("1");
  auto state = expects ? call("mbarrier_arrive_expect_tx", {shared_address(s, at), amount})
                       : call("mbarrier_arrive", {shared_address(s, at), amount, text(s.opcode.starts_with("mbarrier.arrive_drop"))});
  if (!state || at == 0 || s.operands[0].kind == PtxOperand::Kind::kSink) return statement(state);
  return fmt::format("kiln_text::put({}, {});", name_of_register(s.operands[0].text), *state);
}
// mbarrier.try_wait{.parity} p, [a], state {, time}
Result<std::string> try_wait(InstructionContext&, const PtxStatement& s) {
  auto done = call("mbarrier_try_wait", {shared_address(s, 1), value(s, 2, "unsigned long long"), text(has_part(s, "parity"))});
  auto p = value(s, 0);
  if (!done || !p) return done ? p.error() : done.error();
  return fmt::format("{} = {};", *p, *done);
}

// cp.async.ca.shared.global [to], [from], bytes {, bytes that are read} {, policy}
Result<std::string> cp_async(InstructionContext&, const PtxStatement& s) {
  bool hinted = s.opcode.find("cache_hint") != std::string::npos;
  size_t n = s.operands.size() - (hinted ? 1 : 0);
  auto from = s.operands[1].kind == PtxOperand::Kind::kAddress ? value(s.operands[1].items[0]) : no_such_use(s);
  if (!from) return from.error();
  std::string global =
      fmt::format("kiln_text::pointer({}{}{})", *from, s.operands[1].items[0].offset.empty() ? "" : " + ", s.operands[1].items[0].offset);
  auto bytes = value(s, 2, "int");
  return statement(call("cp_async", {shared_address(s, 0), global, bytes, n > 3 ? value(s, 3, "int") : bytes}));
}
Result<std::string> cp_async_commit(InstructionContext&, const PtxStatement&) { return statement(call("cp_async_commit", {})); }
Result<std::string> cp_async_wait(InstructionContext&, const PtxStatement& s) {
  return statement(call("cp_async_wait", {s.operands.empty() ? Result<std::string>("-1") : value(s, 0, "int")}));
}
Result<std::string> cp_async_arrive(InstructionContext&, const PtxStatement& s) {
  return statement(call("cp_async_arrive", {shared_address(s, 0), text(has_part(s, "noinc"))}));
}

Result<std::string> bulk_commit(InstructionContext&, const PtxStatement&) { return statement(call("bulk_commit", {})); }
Result<std::string> bulk_wait(InstructionContext&, const PtxStatement& s) {
  return statement(call("bulk_wait", {value(s, 0, "int"), text(has_part(s, "read"))}));
}
Result<std::string> bulk_clear(InstructionContext&, const PtxStatement& s) {
  return statement(call("bulk_clear", {shared_address(s, 0), value(s, 1, "long long")}));
}

Result<std::string> generic(const PtxStatement& s, size_t operand) {
  if (s.operands[operand].kind != PtxOperand::Kind::kAddress) return no_such_use(s);
  auto v = value(s.operands[operand].items[0]);
  if (!v) return v.error();
  return "kiln_text::pointer(" + *v + ")";
}

// cp.async.bulk.shared::cluster.global... [to], [from], bytes, [barrier] {, blocks} {, policy};
// cp.async.bulk.shared::cluster.shared::cta... the same; cp.async.bulk.global.shared::cta.bulk_group [to], [from], bytes {, policy}
Result<std::string> bulk(InstructionContext&, const PtxStatement& s) {
  if (has_part(s, "bulk_group")) return statement(call("bulk_store", {generic(s, 0), shared_address(s, 1), value(s, 2, "int")}));
  if (s.operands.size() < 4) return no_such_use(s);
  bool from_shared = s.opcode.find("shared::cluster.shared::cta") != std::string::npos;
  auto from = from_shared ? shared_address(s, 1) : generic(s, 1);
  if (from && from_shared) from = "kiln_text::shared_pointer(" + *from + ")";
  bool multicast = has_part(s, "multicast::cluster");
  auto blocks = multicast ? value(s, 4, "unsigned") : Result<std::string>("0");
  return statement(call("bulk_load", {shared_address(s, 0), from, value(s, 2, "int"), shared_address(s, 3), blocks}));
}

// The part of [map, {coordinates}].
Status coordinates(const PtxStatement& s, size_t operand, std::string& map, std::string& list, size_t& count) {
  const PtxOperand& o = s.operands[operand];
  if (o.kind != PtxOperand::Kind::kAddress || o.items.size() != 2) return no_such_use(s);
  auto m = value(o.items[0]), at = values(o.items[1], "int");
  if (!m || !at) return no_such_use(s);
  map = *m, list = *at;
  count = o.items[1].kind == PtxOperand::Kind::kVector ? o.items[1].items.size() : 1;
  if (count > 5) return no_such_use(s);
  return Ok{};
}

int rank_of(const PtxStatement& s) {
  for (int rank = 1; rank <= 5; ++rank) {
    if (has_part(s, std::to_string(rank) + "d")) return rank;
  }
  return 0;
}

// cp.async.bulk.tensor.2d.shared::cluster.global... [to], [map, {x, y}], [barrier] {, {offsets}} {, blocks} {, policy}
// cp.async.bulk.tensor.2d.global.shared::cta... [map, {x, y}], [from] {, policy}; cp.reduce.async.bulk.tensor: the same
Result<std::string> tensor(InstructionContext&, const PtxStatement& s) {
  bool store = has_part(s, "bulk_group");
  std::string map, at;
  size_t count = 0;
  if (auto ok = coordinates(s, store ? 0 : 1, map, at, count); !ok) return ok.error();
  bool im2col = s.opcode.find(".im2col") != std::string::npos, gather = has_part(s, "tile::gather4"),
       scatter = has_part(s, "tile::scatter4");
  std::string out =
      fmt::format("kiln_text::TensorCopy kc = {{}}; kc.map = kiln_text::pointer({}); kc.rank = {}; kc.mode = {}; ", map, rank_of(s),
                  im2col    ? 1
                  : gather  ? 2
                  : scatter ? 3
                            : 0);
  out += fmt::format("{{ const int ka[] = {{{}}}; for (int i = 0; i < {}; ++i) kc.at[i] = ka[i]; }} ", at, count);
  auto shared = shared_address(s, store ? 1 : 0);
  if (!shared) return shared.error();
  out += fmt::format("kc.shared = {}; ", *shared);
  if (s.opcode.starts_with("cp.reduce")) {
    constexpr std::pair<std::string_view, int> kUpdates[] = {{"add", 0}, {"min", 1}, {"max", 2}, {"and", 3},
                                                             {"or", 4},  {"xor", 5}, {"inc", 6}, {"dec", 7}};
    for (auto [name, number] : kUpdates) {
      if (has_part(s, name)) out += fmt::format("kc.reduce = {}; ", number + 1);
    }
  }
  if (!store) {
    auto barrier = shared_address(s, 2);
    if (!barrier) return barrier.error();
    out += fmt::format("kc.barrier = {}; ", *barrier);
    size_t next = 3;
    if (im2col) {
      if (next >= s.operands.size()) return no_such_use(s);
      auto offsets = values(s.operands[next], "unsigned short");
      if (!offsets) return offsets.error();
      size_t n = s.operands[next].kind == PtxOperand::Kind::kVector ? s.operands[next].items.size() : 1;
      if (n > 3) return no_such_use(s);
      out += fmt::format("kc.offset_count = {0}; {{ const int ka[] = {{{1}}}; for (int i = 0; i < {0}; ++i) kc.offsets[i] = ka[i]; }} ", n,
                         *offsets);
      ++next;
    }
    if (has_part(s, "multicast::cluster")) {
      auto blocks = value(s, next, "unsigned short");
      if (!blocks) return blocks.error();
      out += fmt::format("kc.blocks = {}; ", *blocks);
    }
  }
  return out + fmt::format("{}.{}(kiln_text::lane(), &kc);", kCall, store ? "tensor_store" : "tensor_load");
}

Result<std::string> set_max_registers(InstructionContext&, const PtxStatement& s) {
  return statement(call("set_max_registers", {value(s, 0, "int"), text(has_part(s, "inc"))}));
}
Result<std::string> nothing(InstructionContext&, const PtxStatement&) { return std::string(); }

}  // namespace

const std::vector<HandlerRow> kAsyncInstructions = {
    {"bar.sync", bar_sync, 1},
    {"bar.cta.sync", bar_sync, 1},
    {"barrier.sync", bar_sync, 1},
    {"barrier.cta.sync", bar_sync, 1},
    {"bar.arrive", bar_arrive, 2},
    {"bar.cta.arrive", bar_arrive, 2},
    {"barrier.arrive", bar_arrive, 2},
    {"barrier.cta.arrive", bar_arrive, 2},
    {"bar.warp.sync", bar_warp, 1},
    {"barrier.cluster.arrive", cluster_arrive, 0},
    {"barrier.cluster.wait", cluster_wait, 0},
    {"elect.sync", elect, 2},
    {"mbarrier.init", init, 2},
    {"mbarrier.inval", inval, 1},
    {"mbarrier.expect_tx", expect_tx, 2},
    {"mbarrier.complete_tx", complete_tx, 2},
    {"mbarrier.arrive", arrive, 1},
    {"mbarrier.arrive_drop", arrive, 1},
    {"mbarrier.try_wait", try_wait, 3},
    {"mbarrier.test_wait", try_wait, 3},
    {"cp.async.ca", cp_async, 3},
    {"cp.async.cg", cp_async, 3},
    {"cp.async.commit_group", cp_async_commit, 0},
    {"cp.async.wait_group", cp_async_wait, 1},
    {"cp.async.wait_all", cp_async_wait, 0},
    {"cp.async.mbarrier.arrive", cp_async_arrive, 1},
    {"cp.async.bulk", bulk, 3},
    {"cp.async.bulk.commit_group", bulk_commit, 0},
    {"cp.async.bulk.wait_group", bulk_wait, 1},
    {"cp.async.bulk.prefetch", nothing, 0},
    {"cp.async.bulk.tensor", tensor, 2},
    {"cp.reduce.async.bulk.tensor", tensor, 2},
    {"st.bulk", bulk_clear, 2},
    {"setmaxnreg", set_max_registers, 1},
};

}  // namespace kiln::sim
