// Reading PTX mnemonics: the words between the dots, taken one by one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backends/sim/matrix/format.h"
#include "kiln/error.h"

namespace kiln::sim {

class Mnemonic {
 public:
  explicit Mnemonic(std::string_view text);

  // Takes the first word that is `word`: whether there was one.
  bool take(std::string_view word);
  // Takes the first word that is one of the two and gives it, or nothing.
  std::string_view take_first(std::string_view one, std::string_view other);
  // Takes the first word that begins with `prefix` and gives the rest of it, or nothing.
  std::string_view take_after(std::string_view prefix);
  // Takes the first word of the form m16n8k16; false when there is none.
  bool take_shape(int& m, int& n, int& k);
  // Takes the first word that names a format, or kNone.
  Format take_format();
  // Takes a state space of shared memory, if there is one.
  void take_shared();
  // An error when words are left over.
  Status done() const;

  Error error(const std::string& what) const;  // "'<text>': <what>"

 private:
  std::string_view text_;
  std::vector<std::string_view> words_;
};

// The number that is all of `text`, or -1.
int number(std::string_view text);

}  // namespace kiln::sim
