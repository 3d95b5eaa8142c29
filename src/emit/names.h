// Identifiers for Vars: the user's names where the language allows them, unique among those that are visible.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ir/ir.h"

namespace kiln::emit {

using Names = std::set<std::string, std::less<>>;

// Names that no Var of a module may take.
struct Reserved {
  const Names& language;                       // the same for all modules
  Names module;                                // of its functions, and those that it calls
  bool (*prefix)(std::string_view) = nullptr;  // whether the language keeps all names that begin as this one does; null: none
};

// `name` as a C identifier: bytes other than ASCII letters, digits and '_' become '_'; one that is empty, starts with a digit, or is
// reserved to the implementation (`__x`, `_X`) gets the prefix "v".
std::string identifier(std::string_view name);

// Whether `name` is a C identifier as it stands.
bool is_identifier(std::string_view name);

// Nested scopes of one function. A name never hides one of an enclosing scope, so a Var may be used anywhere below its declaration.
class NameScope {
 public:
  // What `reserved` refers to must outlive the scope.
  explicit NameScope(const Reserved& reserved)
      : language_(reserved.language), prefix_(reserved.prefix), levels_(1), taken_(reserved.module) {}

  void push() { levels_.emplace_back(); }
  void pop();
  // Gives `var` a name in the innermost scope: its own, or with the first suffix _1, _2, ... that is free; after "v_" where the
  // language keeps names that begin so.
  const std::string& declare(const ir::Var* var);
  // The text that stands for `var` from now on, as "x[lane]".
  void alias(const ir::Var* var, std::string text) { names_[var] = std::move(text); }
  // A name that belongs to no Var.
  std::string fresh(std::string_view name);
  // The name of a declared Var.
  const std::string& of(const ir::Var* var) const;
  bool is_declared(const ir::Var* var) const { return names_.contains(var); }

 private:
  const Names& language_;
  bool (*prefix_)(std::string_view);
  std::vector<std::vector<std::string>> levels_;
  Names taken_;
  std::map<const ir::Var*, std::string> names_;  // looked up, never walked: its order must not reach the text
};

}  // namespace kiln::emit
