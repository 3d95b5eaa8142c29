#include "base/temporary_folder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace kiln {

namespace fs = std::filesystem;

Result<std::unique_ptr<TemporaryFolder>> TemporaryFolder::make() {
  const char* parent = std::getenv("TMPDIR");
  if (!parent || !*parent) parent = "/tmp";
  std::error_code ec;
  std::string pattern = (fs::absolute(parent, ec) / "kiln-XXXXXX").string();
  if (!mkdtemp(pattern.data())) {
    return Error{Code::kIo, std::string("cannot make a temporary folder: ") + std::strerror(errno), parent,
                 "set TMPDIR to a folder that can be written"};
  }
  return std::unique_ptr<TemporaryFolder>(new TemporaryFolder(pattern));
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!kept_) fs::remove_all(path_, ignored);
}

Status TemporaryFolder::write(std::string_view name, std::string_view bytes) const {
  std::ofstream f(file(name), std::ios::binary);
  f.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  f.close();
  if (!f) return Error{Code::kIo, "cannot write a temporary file", file(name), "is the disk full?"};
  return Ok{};
}

Result<std::string> TemporaryFolder::read(std::string_view name) const {
  std::ifstream f(file(name), std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(f), {}};
  if (!f) return Error{Code::kIo, "cannot read a temporary file", file(name), ""};
  return bytes;
}

bool TemporaryFolder::keep_if_asked() {
  const char* keep = std::getenv("KILN_KEEP_TEMPS");
  return kept_ = keep && *keep && std::string_view(keep) != "0";
}

}  // namespace kiln
