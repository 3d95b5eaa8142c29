// The operators that a Call may name: a closed set read from ops.def.
#pragma once

#include <cstdint>
#include <string_view>

namespace kiln::ir {

// What evaluating the operator may do (TVM's CallEffectKind).
enum class Effect : uint8_t { kPure, kRead, kUpdate, kControl };

// The dtype that a Call has when its text form does not say it.
enum class ResultRule : uint8_t {
  kFirstArg,       // that of argument 0
  kSecondArg,      // that of argument 1: T.if_then_else(c, x, y)
  kExplicitFirst,  // TVMScript writes it before the arguments: T.reinterpret("int32", x)
  kExplicitLast,   // ... after them: T.tvm_struct_get(h, 0, 1, "handle")
  kInt32,
  kUInt32,
  kBool,
  kHandle,
  kVoid,
};

// One enumerator per row of ops.def: the operator's full name with '_' for the first '.' and '__' for others. kUnknown stands for an
// operator of a newer compiler (Call::name has its name), kFunction for a call of another function of the module.
enum class Op : uint16_t {
  kUnknown,
  kFunction,
#define KILN_OP(id, name, args, rule, effect) id,
#include "ir/ops.def"
#undef KILN_OP
};

struct OpInfo {
  std::string_view name;  // canonical: "tirx.exp", "tl.tma_load"
  int args;               // -1: any number
  ResultRule rule;
  Effect effect;
};

// Row of `op`; kUnknown and kFunction have an empty name and update state, as far as anyone knows.
const OpInfo& op_info(Op op);

// The operator of that full name, or kUnknown. Aliases of other dialects ("prim.if_then_else") give the canonical operator.
Op find_op(std::string_view name);

}  // namespace kiln::ir
