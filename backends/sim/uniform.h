// Which values are the same in all lanes of a warp.
#pragma once

#include <cstdint>
#include <set>

#include "ir/ir.h"

namespace kiln::sim {

// Values are looked at in the order of the program: a variable must be declared before its uses are asked about.
class Uniformity {
 public:
  enum class Kind : uint8_t {
    kVarying,
    kFromMemory,  // the same, but read from memory that lanes share: it must not move over a statement that writes
    kSame,
  };
  Kind kind(const ir::Expr* e) const;
  bool same(const ir::Expr* e) const { return kind(e) != Kind::kVarying; }

  void declare_same(const ir::Var* v) { same_.insert(v); }
  // threadIdx.x of a block with one dimension: the lanes of warp w have 32 w to 32 w + 31.
  void declare_thread(const ir::Var* v) { thread_ = v; }

 private:
  std::set<const ir::Var*> same_;
  const ir::Var* thread_ = nullptr;
};

// Whether the buffer lies in the registers of each lane.
bool is_local(const ir::Buffer* b);

}  // namespace kiln::sim
