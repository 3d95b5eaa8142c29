// Prints as C what a warp does: loops over lanes, with what the warp does as one between them, under masks where lanes go apart.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "backends/sim/lane_printer.h"
#include "backends/sim/uniform.h"

namespace kiln::sim {

// What is known of a kernel's launch.
struct BlockShape {
  int64_t x = 0, y = 0, z = 0;  // threads; 0: not constant
  bool is_line() const { return y == 1 && z == 1; }
  bool has_full_warps() const { return x * y * z > 0 && x * y * z % 32 == 0; }
};
BlockShape block_shape(const ir::Function* f);

class WarpPrinter {
 public:
  // Parameters are declared in `lane.names`; `shared` gives the text for the memory of a shared buffer.
  WarpPrinter(LanePrinter& lane, const ir::Function* f, std::function<std::string(const ir::Buffer*)> shared);

  // The statements of the kernel.
  void body();

  // What the printer of collectives needs.

  // Where a statement stands: which lanes execute it, by the name of a variable or empty for all 32, and whether others may be elsewhere.
  struct Context {
    std::string mask;
    bool divergent = false, divergent_in_loop = false;
  };
  std::string mask_text(const Context& c) const { return c.mask.empty() ? "0xFFFFFFFFu" : c.mask; }
  void open_lanes(const std::string& mask);
  void close_lanes();
  // Between the two, text is of one lane; declares the indices of threads that the expressions use.
  void lane_begin(const std::string& mask, const std::vector<const ir::Expr*>& used);
  void lane_end() { close_lanes(); }
  bool same(const ir::Expr* e) const { return uniform_.same(e); }
  // Declares an array with an element for each lane.
  void declare_array(const ir::Var* v);
  // Declares a value that is one for the warp.
  void declare_same(const ir::Var* v, const std::string& type, const std::string& value);
  // A variable that was declared so by the caller.
  void adopt_same(const ir::Var* v) { uniform_.declare_same(v); }
  // Declares a value that is a bit of a mask.
  void declare_bits(const ir::Var* v, const std::string& value);

  LanePrinter& lane;

 private:
  struct Exits {
    bool returns = false, loops = false;
    bool any() const { return returns || loops; }
  };
  struct Loop {
    std::string loop, iteration;  // masks: lanes that are still in it, in this turn of it
  };
  struct ThreadIndex {
    const ir::Var* var;
    std::string value;  // in the text of one lane
  };

  bool is_warp_level(const ir::Stmt* s) const;
  Exits masked_exits(const ir::Stmt* s, bool divergent, bool divergent_in_loop) const;
  void seq(const ir::Stmt* s, const Context& c);
  bool declares_same(const ir::Stmt* s);
  void same_declaration(const ir::Stmt* s);
  void region(const std::vector<const ir::Stmt*>& run, const Context& c);
  void stmt(const ir::Stmt* s, const Context& c);
  void branch(const ir::If* i, const Context& c);
  void same_for(const ir::For* f, const Context& c);
  void varying_for(const ir::For* f, const Context& c);
  void loop_while(const ir::While* w, const Context& c);
  void open_turn(const Loop& l);
  void leave(const ir::Stmt* s, const Context& c);
  void thread_extent(const ir::ThreadExtent* t);
  void use_threads(const std::set<const ir::Var*>& used);
  void mask_of(const std::string& name, const std::string& mask, const ir::Expr* condition);
  std::string alive() const { return loops_.empty() ? "w->live" : loops_.back().iteration; }

  const ir::Function* const function_;
  const std::function<std::string(const ir::Buffer*)> shared_;
  const BlockShape shape_;
  Uniformity uniform_;
  std::map<const ir::Var*, int> uses_;
  std::map<const ir::Var*, std::string> bits_;  // variables that are bits of a mask
  std::vector<ThreadIndex> threads_;
  std::vector<Loop> loops_;  // with masks
};

// Prints a call that the warp executes as one, in collectives.cc; `result` may be null.
void print_collective(WarpPrinter& p, const ir::Call* c, const ir::Var* result, const WarpPrinter::Context& context);

}  // namespace kiln::sim
