// A private folder for a compiler's files.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "kiln/error.h"

namespace kiln {

// Lies in TMPDIR (or /tmp), readable by its owner only, and goes away with its owner object unless the user wants to look into it.
class TemporaryFolder {
 public:
  static Result<std::unique_ptr<TemporaryFolder>> make();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  // Path of the file `name` in it.
  std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }
  // Writes a file, all of it or an error of code kIo.
  Status write(std::string_view name, std::string_view bytes) const;
  // The bytes of a file.
  Result<std::string> read(std::string_view name) const;
  // True when KILN_KEEP_TEMPS asks for it (set and not 0); then the folder stays.
  bool keep_if_asked();

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
  bool kept_ = false;
};

}  // namespace kiln
