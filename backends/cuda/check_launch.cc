#include "backends/cuda/check_launch.h"

#include <map>

#include "emit/functions.h"

namespace kiln::cuda {
namespace {

using namespace ir;
using kiln::check::Report;

std::string bytes(int64_t n) { return std::to_string(n) + " bytes"; }

class LaunchChecker {
 public:
  LaunchChecker(Report& report, const Arch& arch) : report_(report), arch_(arch), limits_(limits(arch)) {}

  void stmt(const Stmt* s) {
    if (auto* t = s->as<ThreadExtent>()) extent(t->tag, t->extent, s->span);
    auto* f = s->as<For>();
    if (f && f->for_kind == ForKind::kThreadBinding) extent(f->thread_tag, f->extent, s->span);
    if (auto* a = s->as<Attr>(); a && a->key == "tl.min_blocks_per_sm") min_blocks(a);
    if (auto* a = s->as<AllocBuffer>()) allocation(a);
  }

  // The attribute cluster_dims: up to three extents. PTX ISA 9.0, 11.8 (.reqnctapercluster); 16 blocks are the most that any device takes.
  void clusters(const Function* f) {
    const Value* v = f->attrs ? f->attrs->find("cluster_dims") : nullptr;
    if (!v || v->kind == Value::Kind::kNone || (v->kind == Value::Kind::kArray && v->array.empty())) return;
    if (arch_.number < 90) {
      return report_.fault(f->span, report_.codegen + " has no clusters of blocks (attribute cluster_dims)" + report_.on_arch(),
                           "they need sm_90 or newer");
    }
    int64_t blocks = 1;
    bool fits = v->kind == Value::Kind::kArray && v->array.size() <= 3;
    std::string given;
    for (const Value& extent : v->array) {
      fits &= extent.kind == Value::Kind::kInt && extent.integer >= 1 && extent.integer <= 16;
      if (fits) blocks *= extent.integer;
      given += (given.empty() ? "" : ", ") + (extent.kind == Value::Kind::kInt ? std::to_string(extent.integer) : "no integer");
    }
    if (fits && blocks <= 16) return;
    report_.fault(f->span, "attribute cluster_dims expects one to three extents of at least 1, at most 16 blocks in all, got " +
                               (v->kind == Value::Kind::kArray ? "[" + given + "]" : "no list"));
  }

 private:
  void extent(std::string_view tag, const Expr* e, SpanId span) {
    auto* constant = e->as<IntImm>();
    if (!constant) return;
    int64_t n = constant->value, least = tag.starts_with("threadIdx") ? 1 : 0, most = 0;
    if (tag == "threadIdx.x") most = limits_.max_block_x;
    if (tag == "threadIdx.y") most = limits_.max_block_y;
    if (tag == "threadIdx.z") most = limits_.max_block_z;
    if (tag == "blockIdx.x") most = limits_.max_grid_x;
    if (tag == "blockIdx.y") most = limits_.max_grid_y;
    if (tag == "blockIdx.z") most = limits_.max_grid_z;
    if (!most) return;  // no thread index, which is looked at elsewhere
    if (n < least || n > most) {
      return report_.fault(span, "extent of " + std::string(tag) + " is " + std::to_string(n) + ", expected " + std::to_string(least) +
                                     " to " + std::to_string(most) + report_.on_arch());
    }
    if (!least) return;
    threads_[tag] = n;
    int64_t all = 1;
    for (const auto& [axis, threads] : threads_) all *= threads;
    if (all <= limits_.max_threads_per_block) return;
    report_.fault(span, "a block has " + std::to_string(all) + " threads with " + std::string(tag) + ", expected at most " +
                            std::to_string(limits_.max_threads_per_block) + report_.on_arch());
  }

  void min_blocks(const Attr* a) {
    auto* n = a->value->as<IntImm>();
    if (n && n->value >= 1 && n->value <= 32) return;
    report_.fault(a->span,
                  "attribute tl.min_blocks_per_sm expects a constant of 1 to 32, got " + (n ? std::to_string(n->value) : "an expression"));
  }

  void allocation(const AllocBuffer* a) {
    const Buffer* b = a->buffer;
    std::string name = "buffer '" + std::string(b->name) + "' in scope '" + std::string(b->scope()) + "'";
    int64_t n = emit::constant_elements(b), size = 0;
    bool countable = n >= 0 && !__builtin_mul_overflow(n, int64_t{b->dtype.bits == 4 ? 4 : 8 * b->dtype.element_bytes()}, &size);
    if (!countable || size > INT64_MAX - 64) return;  // a size that is not constant is looked at elsewhere
    size = (size + 7) / 8;
    bool dynamic = b->scope() == "shared.dyn", shared = b->scope().starts_with("shared");
    if (!shared) {
      if (!b->scope().starts_with("local") || size <= limits_.max_local_bytes) return;
      return report_.fault(a->span, name + " takes " + bytes(size) + ", expected at most " + bytes(limits_.max_local_bytes) +
                                        " of a thread" + report_.on_arch());
    }
    if (dynamic) {
      if (size <= limits_.max_shared_bytes) return;
      return report_.fault(a->span, name + " takes " + bytes(size) + ", expected at most " + bytes(limits_.max_shared_bytes) +
                                        " of a block" + report_.on_arch());
    }
    static_bytes_ = (static_bytes_ + 15) / 16 * 16;  // as they are aligned
    if (size <= limits_.max_static_shared_bytes && static_bytes_ + size <= limits_.max_static_shared_bytes) {
      static_bytes_ += size;
      return;
    }
    std::string before = static_bytes_ ? " after " + bytes(static_bytes_) + " of others" : "";
    report_.fault(a->span,
                  name + " takes " + bytes(size) + before + ", expected at most " + bytes(limits_.max_static_shared_bytes) +
                      " of static shared memory in a kernel" + report_.on_arch(),
                  "scope shared.dyn has up to " + bytes(limits_.max_shared_bytes));
  }

  Report& report_;
  const Arch& arch_;
  const Limits limits_;
  std::map<std::string_view, int64_t> threads_;
  int64_t static_bytes_ = 0;
};

}  // namespace

void check_launch(Report& report, const Function* f, const Arch& arch) {
  LaunchChecker checker(report, arch);
  checker.clusters(f);
  report.walk(
      f, [&](const Stmt* s) { checker.stmt(s); }, [](const Expr*) {});
}

}  // namespace kiln::cuda
