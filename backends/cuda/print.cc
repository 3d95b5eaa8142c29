#include "backends/cuda/print.h"

#include <algorithm>
#include <unordered_map>

#include "backends/cuda/check.h"
#include "backends/cuda/dialect.h"
#include "backends/cuda/generated.h"
#include "backends/cuda/intrinsics.h"
#include "backends/cuda/lower.h"
#include "emit/functions.h"
#include "intrinsics/fragments.h"
#include "intrinsics/packed.h"
#include "intrinsics/prepare.h"
#include "intrinsics/registers.h"
#include "ir/rewriter.h"
#include "legalise/legalise.h"

namespace kiln::cuda {
namespace {

using namespace ir;
using emit::is_kernel;

// What the launch is made for; 0 for extents that are not constant.
struct Launch {
  // At least one block: without a number ptxas ignores setmaxnreg, whose warp groups share what a block has.
  int64_t threads = 1, min_blocks = 1;
  std::string swizzle;  // "swizzled_block_rows<4>()", or empty
};

Launch launch_of(const Function* f) {
  Launch l;
  std::map<std::string_view, int64_t> extents;
  visit(
      f->body,
      [&](const Stmt* s) {
        auto* t = s->as<ThreadExtent>();
        auto* loop = s->as<For>();
        auto* a = s->as<Attr>();
        std::string_view tag = t ? t->tag : loop ? loop->thread_tag : std::string_view();
        auto* extent = t ? t->extent->as<IntImm>() : loop ? loop->extent->as<IntImm>() : nullptr;
        if (tag.starts_with("threadIdx")) extents[tag] = extent ? extent->value : 0;
        if (a && a->key == "tl.min_blocks_per_sm" && a->value->as<IntImm>()) l.min_blocks = a->value->as<IntImm>()->value;
        if (a && a->key == "threadblock_swizzle_pattern") {
          auto* c = a->value->as<Call>();
          bool rows = c->args[0]->as<StringImm>()->value == "rasterization2DRow";
          l.swizzle = std::string(rows ? "swizzled_block_rows<" : "swizzled_block_columns<") +
                      std::to_string(c->args[1]->as<IntImm>()->value) + ">()";
        }
      },
      [](const Expr*) {});
  for (const auto& [tag, n] : extents) l.threads *= n;
  return l;
}

// Bytes of the widest access through each variable that vector accesses use directly.
std::map<const Var*, int64_t> vector_alignments(const Function* f) {
  std::map<const Var*, int64_t> out;
  visit(
      f->body,
      [&](const Stmt* s) {
        auto* a = s->as<Attr>();
        if (!a || a->key != "kiln.vector_access") return;
        auto* store = a->body->as<Store>();
        for (const Var* v : {store->buffer->data, store->value->as<Load>()->buffer->data}) {
          out[v] = std::max(out[v], a->value->as<IntImm>()->value);
        }
      },
      [](const Expr*) {});
  return out;
}

struct HelperIndex {
  std::unordered_map<std::string_view, std::vector<size_t>> by_name;  // places in helpers()
  std::vector<std::vector<size_t>> needs;                             // of each helper: those before it that its text names
};

const HelperIndex& helper_index() {
  static const HelperIndex index = [] {
    HelperIndex made;
    for (size_t h = 0; h < helpers().size(); ++h) {
      std::vector<size_t>& needs = made.needs.emplace_back();
      emit::each_word(helpers()[h].text, [&](std::string_view word) {
        auto found = made.by_name.find(word);
        if (found != made.by_name.end()) needs.insert(needs.end(), found->second.begin(), found->second.end());
      });
      for (std::string_view name : helpers()[h].names) made.by_name[name].push_back(h);
    }
    return made;
  }();
  return index;
}

class ModulePrinter {
 public:
  ModulePrinter(const Module& module, const Arch& arch, const emit::PlaceStyle& style)
      : module_(module),
        arch_(arch),
        style_(style),
        reserved_{reserved_names(), {}, is_macro_of_cuda},
        imported_(emit::imported_source(module)) {}

  Source print() {
    for (const Function* f : module_.functions) {
      if (emit::has_imported_body(f)) {
        parameters_[f] = declared_[f] = emit::parameters(f);
        record(f, std::string(emit::name_of(f)));
        continue;  // its text is in the imported source
      }
      auto vector_add = [&](const Buffer* b, int lanes, int64_t order) { return has_vector_add(arch_, b, lanes, order); };
      const Function* own = intrinsics::own_registers(arena_, legalise::bind_effects(arena_, f));
      const Function* packed = intrinsics::pack_elements(arena_, intrinsics::lower_fragments(arena_, own));
      const Function* paired = pair_conversions(arena_, pair_operators(arena_, packed, arch_), arch_);
      const Function* prepared = intrinsics::prepare(arena_, paired, vector_add);
      const Function* plain = lower(arena_, legalise::legalise(arena_, prepared, features()));
      functions_.push_back(legalise::name_threads(arena_, legalise::hoist_addresses(arena_, plain)));
      parameters_[functions_.back()] = emit::parameters(plain);  // while it is seen which memory is written
      declared_[functions_.back()] = emit::parameters(f);
    }
    name_functions();
    emit::Writer body;
    for (const Function* f : functions_) {
      if (!is_kernel(f)) body.line(signature(f, nullptr) + ";\n");
    }
    for (const Function* f : functions_) function(f, body);
    Source source;
    source.format = "cuda";
    std::vector<SpanId> spans = body.take_spans();
    std::string text = body.take();
    std::string head = assemble(text);
    emit::Placed placed = emit::place_lines(text, spans, module_, style_, static_cast<int>(std::count(head.begin(), head.end(), '\n')) + 1);
    source.text = head + placed.text;
    source.places = std::move(placed.places);
    source.kernels = std::move(kernels_);
    return source;
  }

 private:
  static bool is_free(std::string_view name) {
    return !emit::is_reserved_to_compiler(name) && !is_reserved_to_cuda(name) && !reserved_names().contains(name);
  }

  void name_functions() {
    symbols_ = emit::symbols(functions_, is_free);
    for (const auto& [name, symbol] : symbols_) reserved_.module.insert(symbol);
    for (const Function* f : functions_) emit::add_externals(f, reserved_.module);
  }

  std::string signature(const Function* f, CudaPrinter* p) {
    Launch launch = launch_of(f);
    std::string text = is_kernel(f) ? "extern \"C\" __global__ void " : "__device__ " + type_name(f->ret) + " ";
    if (is_kernel(f)) {
      const Value* cluster = f->attrs ? f->attrs->find("cluster_dims") : nullptr;
      if (cluster && !cluster->array.empty()) {
        text += "__cluster_dims__(";
        for (size_t i = 0; i < cluster->array.size(); ++i) text += (i ? ", " : "") + std::to_string(cluster->array[i].integer);
        text += ") ";
      }
      if (launch.threads > 0)
        text += "__launch_bounds__(" + std::to_string(launch.threads) + ", " + std::to_string(launch.min_blocks) + ") ";
    }
    text += symbols_[std::string(f->name)] + "(";
    const std::vector<emit::Parameter>& params = parameters_[f];
    for (size_t i = 0; i < params.size(); ++i) {
      bool tensor_map = !params[i].info.is_pointer && params[i].info.dtype.is_handle();
      text += (i ? ", " : "") + (tensor_map ? "const __grid_constant__ tensor_map" : params[i].type(type_name));
      if (params[i].alone) text += " __restrict__";
      if (p) text += " " + p->names.declare(f->params[i]);
    }
    return text + ")";
  }

  void function(const Function* f, emit::Writer& out) {
    CudaPrinter p(out, reserved_, arch_, symbols_, generated_);
    Function printed = *f;
    if (is_kernel(f)) printed.ret = kVoid;  // a status that a kernel of another target returns
    p.function = &printed;
    p.count_uses(f->body);
    for (const auto& [variable, bytes] : vector_alignments(f)) p.word_accessed.insert(variable);
    std::string swizzle = launch_of(f).swizzle;
    p.swizzled = !swizzle.empty();
    out.at(f->span);
    std::string head = signature(f, &p);
    const std::vector<emit::Parameter>& params = parameters_[f];
    out.open(head);
    p.names.push();
    for (size_t i = 0; i < params.size(); ++i) {
      if (!params[i].info.is_pointer || params[i].info.dtype.is_void()) continue;
      p.pointees[f->params[i]] = params[i].info.dtype;
      if (params[i].info.is_read_only) p.read_only.insert(f->params[i]);
    }
    if (p.swizzled) out.line("const dim3 block = " + swizzle + ";");
    generators(f, p);
    p.stmt(f->body);
    p.names.pop();
    out.close();
    out.line("");
    if (is_kernel(f)) record(f, symbols_[std::string(f->name)]);
  }

  // States of random numbers live as long as the function, whatever the block that begins them.
  void generators(const Function* f, CudaPrinter& p) {
    visit(
        f->body, [](const Stmt*) {},
        [&](const Expr* e) {
          auto* c = e->as<Call>();
          if (!c || c->op != Op::tl_rng_init) return;
          auto* state = arena_.make(Var{{ExprKind::kVar, kHandle, c->span}, "random", nullptr});
          p.generators[c] = state;
          p.out.line("philox " + p.names.declare(state) + ";");
        });
  }

  void record(const Function* f, const std::string& symbol) {
    KernelInfo k;
    k.name = emit::name_of(f);
    k.symbol = symbol;
    std::map<const Var*, int64_t> alignments = vector_alignments(f);
    const std::vector<emit::Parameter>& declared = declared_[f];
    for (const emit::Parameter& p : parameters_[f]) {
      KernelParam info = p.info;
      const KernelParam& own = declared[k.params.size()].info;
      if (own.dtype.bits == 4) info.dtype = own.dtype, info.shape = own.shape;
      info.is_tensor_map = !info.is_pointer && info.dtype.is_handle();
      if (info.is_pointer) info.alignment = static_cast<int>(alignments[f->params[k.params.size()]]);
      k.params.push_back(std::move(info));
    }
    k.cooperative = emit::attr_set(f, "use_cooperative_groups");
    k.dependent_launch = emit::attr_set(f, "has_cuda_pdl_sync");
    const Value* launch = f->attrs ? f->attrs->find("tirx.kernel_launch_params") : nullptr;
    if (launch) {
      for (const Value& v : launch->array) k.launch_params.emplace_back(v.string);
    }
    kernels_.push_back(std::move(k));
  }

  // Bytes that the tensor copies and matrix descriptors want the start of dynamic shared memory aligned to.
  int64_t dynamic_alignment() const {
    int64_t most = 16;
    for (const Function* f : module_.functions) {
      const Value* map = f->attrs ? f->attrs->find("tl.smem_alignment_map") : nullptr;
      if (!map) continue;
      for (const KeyValue& kv : map->map) {
        int64_t n = kv.value.integer;
        if (n > most && n <= 1024 && (n & (n - 1)) == 0) most = n;
      }
    }
    return most;
  }

  // The helpers that the text uses and those that they need, that go before it.
  std::string assemble(const std::string& body) {
    const HelperIndex& index = helper_index();
    std::vector<bool> used(helpers().size());
    bool has_dynamic_shared = false;
    auto use = [&](std::string_view word) {
      has_dynamic_shared |= word == "dynamic_shared";
      auto found = index.by_name.find(word);
      if (found == index.by_name.end()) return;
      for (size_t h : found->second) used[h] = true;
    };
    emit::each_word(body, use);
    for (const auto& [name, text] : generated_) emit::each_word(text, use);
    for (size_t h = used.size(); h-- > 0;) {
      const Helper& helper = helpers()[h];
      used[h] = used[h] && arch_.number >= helper.first_sm && arch_.number <= helper.last_sm;
      if (!used[h]) continue;
      for (size_t needed : index.needs[h]) used[needed] = true;
    }
    std::string text = imported_.empty() ? "" : imported_ + "\n";
    for (size_t h = 0; h < used.size(); ++h) {
      if (used[h]) text.append(helpers()[h].text) += '\n';
    }
    for (const auto& [name, helper] : generated_) {
      size_t head = helper.find("__device__"), end = helper.find('\n', head);
      text += helper.substr(0, head) + emit::wrap(std::string_view(helper).substr(head, end - head), 120, 0) + helper.substr(end) + "\n";
    }
    if (has_dynamic_shared) {
      text += "extern __shared__ __align__(" + std::to_string(dynamic_alignment()) + ") unsigned char dynamic_shared[];\n\n";
    }
    return text;
  }

  const Module& module_;
  const Arch& arch_;
  const emit::PlaceStyle style_;
  Arena arena_;
  std::vector<const Function*> functions_;
  std::map<const Function*, std::vector<emit::Parameter>> parameters_;  // as printed
  std::map<const Function*, std::vector<emit::Parameter>> declared_;    // as the module has them: packed elements are bytes in the text
  emit::Reserved reserved_;
  std::string imported_;
  std::map<std::string, std::string, std::less<>> symbols_;
  std::map<std::string, std::string> generated_;
  std::vector<KernelInfo> kernels_;
};

}  // namespace

Result<Source> print_source(const Module& module, const Arch& arch, const emit::PlaceStyle& style) {
  Status checked = check(module, arch);
  if (!checked) return checked.error();
  return ModulePrinter(module, arch, style).print();
}

}  // namespace kiln::cuda
