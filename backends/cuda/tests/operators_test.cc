// The page that lists which operators are printed, docs/cuda-operators.md: written from the tables that the check asks.
// KILN_UPDATE_GOLDENS=1 in the environment writes it again.
#include "check/operators.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "backends/cuda/generated.h"
#include "backends/cuda/intrinsics.h"
#include "check/simt.h"

namespace kiln::cuda {
namespace {

using namespace ir;

struct Named {
  Op op;
  std::string_view name;
};
const Named kOperators[] = {
#define KILN_OP(enumerator, name, args, result, effect) {Op::enumerator, name},
#include "ir/ops.def"
#undef KILN_OP
};

// What prints the operator: "a math function", ...; empty when it is refused by its name.
std::string printed_by(const Named& o) {
  Call c{{ExprKind::kCall, kFloat32}, o.op, o.name, {}, nullptr, nullptr};
  Module module;
  Function f{};
  check::Report report(module, "cuda");
  report.in(&f);
  if (emit::math_function(o.op)) return "a function";
  if (generator_of(&c)) return "a helper for each form";
  if (const HelperCall* h = helper_call(o.op)) return "a helper" + (h->first_sm > 75 ? ", from sm_" + std::to_string(h->first_sm) : "");
  if (o.op == Op::tirx_call_extern || o.op == Op::tirx_call_pure_extern) return "a function";
  if (o.op == Op::tl_rng_init || o.op == Op::tl_rng_rand || o.op == Op::tl_rng_rand_float) return "a helper";
  if (o.name.starts_with("tirx.bitwise_") || o.name.starts_with("tirx.shift_"))
    return "the language";  // expressions of their own in the IR
  return check::common_operator(report, &c) || check::simt_operator(report, &c) ? "the language" : "";
}

// "tirx.ptx.mma": "tirx.ptx"; "tl.tma_load": "".
std::string family(std::string_view name) {
  if (name.starts_with("tl.ascend_")) return "tl.ascend";
  size_t dot = name.find('.', name.find('.') + 1);
  return std::string(name.substr(0, dot == name.npos ? 0 : dot));
}

std::string page() {
  std::string printed, refused;
  std::map<std::string, int> families;
  int count = 0, alone = 0;
  for (const Named& o : kOperators) {
    if (std::string by = printed_by(o); !by.empty()) {
      printed += "| `" + std::string(o.name) + "` | " + by + " |\n";
      ++count;
    } else if (!family(o.name).empty()) {
      ++families[family(o.name)];
    } else {
      refused += (alone++ ? ", `" : "`") + std::string(o.name) + "`";
    }
  }
  std::string text =
      "# Operators of the codegen `cuda`\n\nWritten by `KILN_UPDATE_GOLDENS=1 ctest -R CudaOperators`. Which shapes and dtypes an operator "
      "takes on "
      "an architecture is in the tables\nof `backends/cuda/`; another form is an error that names operator, dtype, place and "
      "architecture.\n\n"
      "## Printed: " +
      std::to_string(count) + "\n\n| operator | as |\n|---|---|\n" + printed + "\n## Refused by name\n\n" +
      "Operators of tiles, which a compiler lowers before, of hosts, of other targets, and TVM's own spelling of PTX:\n\n";
  for (const auto& [name, n] : families) text += "* `" + name + (name == "tl.ascend" ? "_*`: " : ".*`: ") + std::to_string(n) + "\n";
  return text + "\nand " + std::to_string(alone) + " more: " + refused + ".\n";
}

TEST(CudaOperators, ThePageIsTodays) {
  std::string path = std::string(KILN_SOURCE_DIR) + "/docs/cuda-operators.md";
  if (std::getenv("KILN_UPDATE_GOLDENS")) std::ofstream(path) << page();
  std::stringstream committed;
  committed << std::ifstream(path).rdbuf();
  EXPECT_EQ(committed.str(), page()) << "KILN_UPDATE_GOLDENS=1 writes it again";
}

}  // namespace
}  // namespace kiln::cuda
