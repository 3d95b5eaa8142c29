// What a printer of functions needs to know of a module: which functions are kernels, what they take, what they are called in the text.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "emit/names.h"
#include "ir/ir.h"
#include "runtime/kernel_info.h"

namespace kiln::emit {

// Whether the function has an attribute `key` that is true or not 0.
bool attr_set(const ir::Function* f, std::string_view key);
// Whether the list of integers in the attribute `key` has `value`.
bool attr_has(const ir::Function* f, std::string_view key, int64_t value);

// Whether a host calls the function: it has a symbol or is marked as global.
bool is_kernel(const ir::Function* f);

// What a user calls the function.
std::string_view name_of(const ir::Function* f);

struct Parameter {
  // A pointer of storage scope grid_constant (a tensor map, handed over by value) is none here: `dtype` is a handle.
  KernelParam info;
  bool alone = false;  // a pointer, and no other pointer reaches its elements
  // "const float*", or the type of a scalar.
  std::string type(std::string (*type_name)(ir::DataType)) const;
};
std::vector<Parameter> parameters(const ir::Function* f);

// Text in the backend's language that the module brings along, in attributes code_block_source and pragma_import_c; empty for none.
std::string imported_source(const ir::Module& module);

// Whether the attribute code_block_source stands for the function's body.
bool has_imported_body(const ir::Function* f);

// A symbol for each function by its name in the module: its own where that is an identifier and `is_free`, else with a suffix.
std::map<std::string, std::string, std::less<>> symbols(const std::vector<const ir::Function*>& functions,
                                                        const std::function<bool(std::string_view)>& is_free);

// Whether an identifier is reserved to the compiler: `__x`, `_X`.
bool is_reserved_to_compiler(std::string_view name);

// Adds the names of the external functions that are called, which a variable must not hide.
void add_externals(const ir::Function* f, Names& out);

// Calls `f` with each identifier in `text`, in order, as often as it occurs.
template <class F>
void each_word(std::string_view text, F&& f) {
  auto in_word = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; };
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    while (end < text.size() && in_word(text[end])) ++end;
    bool number = text[i] <= '9';  // digits come before letters and '_'
    if (end > i && !number) f(text.substr(i, end - i));
    i = end > i ? end : i + 1;
  }
}
// Adds the identifiers that occur in `text`.
void add_words(std::string_view text, Names& out);

// Elements of the buffer, or -1 when a dimension is not constant or they are too many to count.
int64_t constant_elements(const ir::Buffer* b);

}  // namespace kiln::emit
