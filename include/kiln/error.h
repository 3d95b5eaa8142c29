// Errors as values: every failure in Kiln is one `Error`, returned through `Result<T>`.
//
// Kiln's own code throws nothing; exceptions cross only from user callbacks (registry) and are rethrown as they were.
// At the tvm-ffi boundary an Error becomes a tvm-ffi error (see src/runtime).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace kiln {

// What went wrong, for programs; people read `Error::message`.
enum class Code : uint8_t {
  kInvalidArgument,  // a value that the caller gave is wrong
  kParse,            // a file is not what it claims to be
  kInvalidIr,        // the module breaks a rule of the IR
  kUnsupported,      // the codegen cannot express this
  kUnknownTarget,    // no such target kind or attribute
  kNoCodegen,        // the registry has no matching entry
  kToolchain,        // a compiler is missing or failed
  kLaunch,           // a kernel was called with wrong arguments or failed
  kIo,               // the file system refused
  kInternal,         // our bug
};

// Name of a code for `--json`: "invalid_argument", "parse", ...
std::string_view code_name(Code code);

// One failure. `message` is one lower-case sentence without a full stop: what was expected, what came.
// `place` is where ("gemm.py:12:3", "device.json: node 17", may be empty); `hint` is what to do (may be empty).
struct Error {
  Code code = Code::kInternal;
  std::string message;
  std::string place;
  std::string hint;

  // "place: message (hint)", leaving out what is empty.
  std::string to_string() const;
};

// A value or an Error.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : v_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : v_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)
  bool ok() const { return v_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& operator*() & { return *std::get_if<0>(&v_); }
  const T& operator*() const& { return *std::get_if<0>(&v_); }
  T&& operator*() && { return std::move(*std::get_if<0>(&v_)); }
  T* operator->() { return std::get_if<0>(&v_); }
  const T* operator->() const { return std::get_if<0>(&v_); }
  const Error& error() const { return *std::get_if<1>(&v_); }

 private:
  std::variant<T, Error> v_;
};

// Success without a value.
struct Ok {};
using Status = Result<Ok>;

// Candidates closest to `name` by edit distance, for "did you mean": at most one, empty when none is near.
std::string nearest(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace kiln
