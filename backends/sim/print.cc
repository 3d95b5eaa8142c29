#include "backends/sim/print.h"

#include <algorithm>

#include "backends/sim/check.h"
#include "backends/sim/control.h"
#include "backends/sim/features.h"
#include "backends/sim/operations.h"
#include "backends/sim/warp_printer.h"
#include "backends/sim_device.h"
#include "host_c/intrinsics.h"
#include "host_c/lower.h"
#include "host_c/prelude.h"
#include "intrinsics/arguments.h"
#include "intrinsics/fragments.h"
#include "intrinsics/prepare.h"
#include "intrinsics/registers.h"
#include "ir/rewriter.h"
#include "legalise/legalise.h"

namespace kiln::sim {
namespace {

using namespace ir;

// Pieces of C that a text gets when it names one of their functions; in an order in which each comes after those it needs.
struct Snippet {
  std::string_view text;
  std::string_view includes;
};
constexpr Snippet kSnippets[] = {{device::wgmma_descriptor, ""},
                                 {device::swizzled_block, ""},
                                 {device::cuda_math, "#include <math.h>\n"},
                                 {device::cuda_bits, "#include <string.h>\n"},
                                 {device::cuda_rounding, "#include <fenv.h>\n#include <math.h>\n"},
                                 {device::cuda_conversions, "#include <math.h>\n"}};

// The functions that a snippet defines: the names before the first parenthesis of lines that begin with "static".
emit::Names functions_of(std::string_view text) {
  emit::Names out;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    size_t open = line.find('('), space = line.substr(0, open).rfind(' ');
    if (line.starts_with("static ") && open != line.npos) out.emplace(line.substr(space + 1, open - space - 1));
    at = end + 1;
  }
  return out;
}

// Names that no variable may take: C's, the runtime's, the printer's own.
const emit::Names& reserved_names() {
  static const emit::Names all = [] {
    emit::Names names = host_c::reserved_names();
    for (const char* own : {"w", "sim", "lane", "stored", "rest", "args", "left", "agreed", "first", "block_x", "block_y", "block_z"})
      names.insert(own);
    for (const Snippet& s : kSnippets) names.merge(functions_of(s.text));
    emit::Names words;
    emit::add_words(device::sim, words);
    for (const std::string& w : words) {
      if (w.starts_with("sim_") || w.starts_with("SIM_") || w.starts_with("KILN_")) names.insert(w);
    }
    return names;
  }();
  return all;
}

class ModulePrinter {
 public:
  ModulePrinter(const Module& module, bool checked)
      : module_(module), checked_(checked), reserved_{reserved_names(), {}, nullptr}, imported_(emit::imported_source(module)) {}

  Printed print() {
    for (const Function* f : module_.functions) functions_.push_back(lowered(f));
    auto is_free = [](std::string_view name) { return !emit::is_reserved_to_compiler(name) && !reserved_names().contains(name); };
    auto symbols = emit::symbols(functions_, is_free);
    for (const Function* f : functions_) {
      const std::string& symbol = symbols[std::string(f->name)];
      callees_.by_name[std::string(f->name)] = {symbol, false, f->ret};
      reserved_.module.insert(symbol);
    }
    for (const Function* f : functions_) emit::add_externals(f, reserved_.module);
    emit::Writer out;
    for (const Function* f : functions_) {
      if (!emit::is_kernel(f)) out.line(device_signature(f, nullptr) + ";\n");
    }
    for (const Function* f : functions_) emit::is_kernel(f) ? kernel(f, out) : device_function(f, out);
    printed_.source.format = "c";
    std::string body = out.take();
    printed_.source.text = assemble(body);
    add_sites(std::count(printed_.source.text.begin(), printed_.source.text.end() - static_cast<std::ptrdiff_t>(body.size()), '\n'));
    printed_.forms = std::move(tables_.forms);
    return std::move(printed_);
  }

 private:
  const Function* lowered(const Function* f) {
    f = intrinsics::own_registers(arena_, legalise::bind_effects(arena_, f));
    f = plain_control(arena_, intrinsics::lower_fragments(arena_, f));
    f = intrinsics::prepare(arena_, f, [](const Buffer*, int, int64_t) { return false; });
    f = legalise::legalise(arena_, f, features());
    f = legalise::hoist_effects(arena_, f, features(), is_collective);
    return host_c::lower(arena_, f);
  }

  void add_sites(std::ptrdiff_t lines_before) {
    const std::set<int>& ends = tables_.synchronising;
    for (const SiteKey& s : tables_.sites) {
      auto stretch = std::distance(ends.begin(), ends.lower_bound(s.line));
      int line = s.line ? s.line + static_cast<int>(lines_before) : 0;
      printed_.sites.push_back({module_.place(s.span), s.buffer, line, static_cast<int>(stretch), s.elements});
    }
  }

  void kernel(const Function* f, emit::Writer& out) {
    std::vector<emit::Parameter> params = emit::parameters(f);
    out.line("// " + emit::comment(emit::name_of(f)));
    out.open("void " + callees_.by_name[std::string(f->name)].symbol + "(sim_warp* w, void* const* args)");
    LanePrinter lane(out, reserved_, callees_, tables_, checked_);
    lane.function = f;
    lane.count_uses(f->body);
    lane.names.push();
    out.line("const sim_api* const sim = w->sim;");
    if (checked_) out.line("const int lane = 0;  // outside of loops over lanes: what the first does for all");
    for (size_t i = 0; i < params.size(); ++i) parameter(lane, f->params[i], params[i], i);
    block_indices(f, out);
    int64_t bytes = 0, dynamic = shared_bytes(f);
    WarpPrinter warp(lane, f, [&](const Buffer* b) {
      if (b->scope() == "shared.dyn") return "(w->shared" + (dynamic ? " + " + std::to_string(dynamic) : "") + ")";
      int64_t at = (bytes + 127) / 128 * 128;
      bytes = at + size_of(b);
      return "(w->shared" + (at ? " + " + std::to_string(at) : "") + ")";
    });
    warp.body();
    lane.names.pop();
    out.close();
    out.line("");
    printed_.static_bytes.push_back(dynamic);
    record(f, std::move(params));
  }

  static int64_t size_of(const Buffer* b) {
    return std::max<int64_t>(emit::constant_elements(b), 1) * b->dtype.element_bytes() * std::max<int>(b->dtype.lanes, 1);
  }
  // Bytes of static arrays, so many that what comes after is aligned as swizzled tiles want it.
  static int64_t shared_bytes(const Function* f) {
    int64_t bytes = 0;
    bool dynamic = false;
    visit(
        f->body,
        [&](const Stmt* s) {
          auto* a = s->as<AllocBuffer>();
          if (!a || is_local(a->buffer)) return;
          if (a->buffer->scope() == "shared.dyn")
            dynamic = true;
          else
            bytes = (bytes + 127) / 128 * 128 + size_of(a->buffer);
        },
        [](const Expr*) {});
    return dynamic ? (bytes + 1023) / 1024 * 1024 : bytes;
  }

  void parameter(LanePrinter& p, const Var* v, const emit::Parameter& param, size_t i) {
    std::string type = param.type(host_c::type_name), at = "args[" + std::to_string(i) + "]";
    bool map = !param.info.is_pointer && param.info.dtype.is_handle();
    const std::string name = p.names.declare(v);
    if (param.info.is_pointer && !param.info.dtype.is_void()) p.pointees[v] = param.info.dtype;
    if (map) return p.out.line("const void* const " + name + " = " + at + ";");
    p.out.line(type + " const " + name + " = *(" + type + " const*)" + at + ";");
  }

  // Indices of the block, in the order in which the grid is walked.
  static void block_indices(const Function* f, emit::Writer& out) {
    std::string swizzle;
    std::set<std::string> used;
    visit(
        f->body,
        [&](const Stmt* s) {
          if (auto* t = s->as<ThreadExtent>(); t && t->tag.starts_with("blockIdx.")) used.insert(std::string(1, t->tag.back()));
          auto* a = s->as<Attr>();
          if (!a || a->key != "threadblock_swizzle_pattern") return;
          auto* c = a->value->as<Call>();
          bool rows = intrinsics::text_arg(c, 0) == "rasterization2DRow";
          swizzle = std::string(rows ? "swizzle_rows" : "swizzle_columns") + "(w, " + std::to_string(intrinsics::int_arg(c, 1)) +
                    ", &block_x, &block_y);";
        },
        [](const Expr*) {});
    if (!swizzle.empty()) used.insert({"x", "y"});
    for (const std::string& axis : used) out.line("int32_t block_" + axis + " = w->block_" + axis + ";");
    if (!swizzle.empty()) out.line(swizzle);
  }

  std::string device_signature(const Function* f, LanePrinter* p) {
    std::string text = "static " + host_c::type_name(f->ret) + " " + callees_.by_name[std::string(f->name)].symbol +
                       "(const sim_api* sim, sim_warp* w, int lane";
    std::vector<emit::Parameter> params = emit::parameters(f);
    for (size_t i = 0; i < params.size(); ++i) {
      text += ", " + params[i].type(host_c::type_name) + (p ? " " + p->names.declare(f->params[i]) : "");
      if (p && params[i].info.is_pointer && !params[i].info.dtype.is_void()) p->pointees[f->params[i]] = params[i].info.dtype;
    }
    return text + ")";
  }
  void device_function(const Function* f, emit::Writer& out) {
    LanePrinter p(out, reserved_, callees_, tables_, checked_);
    p.function = f;
    p.count_uses(f->body);
    out.open(device_signature(f, &p));
    p.names.push();
    p.stmt(f->body);
    p.names.pop();
    out.close();
    out.line("");
  }

  void record(const Function* f, std::vector<emit::Parameter> params) {
    KernelInfo k;
    k.name = emit::name_of(f);
    k.symbol = callees_.by_name[std::string(f->name)].symbol;
    for (emit::Parameter& p : params) {
      p.info.is_tensor_map = !p.info.is_pointer && p.info.dtype.is_handle();
      k.params.push_back(std::move(p.info));
    }
    k.cooperative = emit::attr_set(f, "use_cooperative_groups");
    const Value* launch = f->attrs ? f->attrs->find("tirx.kernel_launch_params") : nullptr;
    if (launch) {
      for (const Value& v : launch->array) k.launch_params.emplace_back(v.string);
    }
    printed_.source.kernels.push_back(std::move(k));
  }

  std::string assemble(const std::string& body) {
    emit::Names used;
    emit::add_words(body, used);
    std::string helpers;
    for (const auto& [name, text] : tables_.helpers) helpers += text + "\n";
    emit::add_words(helpers, used);
    std::string snippets, includes;
    for (size_t i = std::size(kSnippets); i-- > 0;) {
      const Snippet& s = kSnippets[i];
      emit::Names defined = functions_of(s.text);
      if (std::none_of(defined.begin(), defined.end(), [&](const std::string& n) { return used.contains(n); })) continue;
      snippets = std::string(s.text) + "\n" + snippets;
      includes += s.includes;
      emit::add_words(s.text, used);
    }
    host_c::Prelude before = host_c::prelude(used);
    std::string text = before.includes + includes + "\n" + std::string(device::sim) + "\n" + before.helpers + snippets;
    if (!imported_.empty()) text += "#define __device__ static\n#define __forceinline__ inline\n#define __host__\n" + imported_ + "\n";
    return text + helpers + body;
  }

  const Module& module_;
  const bool checked_;
  Arena arena_;
  std::vector<const Function*> functions_;
  emit::Reserved reserved_;
  const std::string imported_;
  host_c::Callees callees_;
  Tables tables_;
  Printed printed_;
};

}  // namespace

Result<Printed> print_source(const Module& module, bool checked) {
  if (Status s = check(module); !s) return s.error();
  return ModulePrinter(module, checked).print();
}

}  // namespace kiln::sim
