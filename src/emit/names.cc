#include "emit/names.h"

#include <cctype>

namespace kiln::emit {

bool is_identifier(std::string_view name) {
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) return false;
  for (char c : name) {
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (!letter) return false;
  }
  return true;
}

std::string identifier(std::string_view name) {
  std::string out;
  for (char c : name) out.push_back(is_identifier(std::string("_") + c) ? c : '_');
  bool digit = !out.empty() && out[0] >= '0' && out[0] <= '9';
  bool reserved = out.size() > 1 && out[0] == '_' && (out[1] == '_' || (out[1] >= 'A' && out[1] <= 'Z'));
  if (out.empty() || digit || reserved) out.insert(0, "v");
  return out;
}

void NameScope::pop() {
  for (const std::string& name : levels_.back()) taken_.erase(name);
  levels_.pop_back();
}

std::string NameScope::fresh(std::string_view name) {
  std::string base = identifier(name);
  if (prefix_ && prefix_(base)) base.insert(0, "v_");
  std::string unique = base;
  for (int i = 1; taken_.contains(unique) || language_.contains(unique); ++i) unique = base + "_" + std::to_string(i);
  taken_.insert(unique);
  levels_.back().push_back(unique);
  return unique;
}

const std::string& NameScope::declare(const ir::Var* var) { return names_[var] = fresh(var->name); }

const std::string& NameScope::of(const ir::Var* var) const {
  static const std::string unknown = "undefined";
  auto it = names_.find(var);
  return it == names_.end() ? unknown : it->second;
}

}  // namespace kiln::emit
