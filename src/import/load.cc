// Module files of every kind: reading, unpacking, telling the kinds apart.
#include <zlib.h>
#include <zstd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "import/import.h"
#include "ir/text.h"

namespace kiln {

namespace {

constexpr size_t kMaxBytes = size_t{1} << 30;

Error io_error(std::string message, const std::string& path, std::string hint = "") {
  return {Code::kIo, std::move(message), path, std::move(hint)};
}
Error too_large(const std::string& path) { return io_error("expected at most 1 GiB of unpacked text", path); }

Result<std::string> read_raw(const std::string& path) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> owned(nullptr, &std::fclose);
  std::FILE* f = stdin;
  if (path != "-") {
    owned.reset(std::fopen(path.c_str(), "rb"));
    if (!owned) return io_error(std::string("cannot open the file: ") + std::strerror(errno), path);
    f = owned.get();
  }
  std::string out;
  char buffer[1 << 16];
  while (size_t n = std::fread(buffer, 1, sizeof buffer, f)) {
    out.append(buffer, n);
    if (out.size() > kMaxBytes) return too_large(path);
  }
  if (std::ferror(f)) return io_error(std::string("cannot read the file: ") + std::strerror(errno), path);
  return out;
}

Result<std::string> gunzip(const std::string& in, const std::string& path) {
  z_stream z{};
  if (inflateInit2(&z, 15 + 16) != Z_OK) return io_error("cannot start zlib", path);
  std::unique_ptr<z_stream, int (*)(z_stream*)> owned(&z, &inflateEnd);
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
  z.avail_in = static_cast<uInt>(in.size());
  std::string out;
  char buffer[1 << 16];
  int status = Z_OK;
  while (status == Z_OK) {
    z.next_out = reinterpret_cast<Bytef*>(buffer);
    z.avail_out = sizeof buffer;
    status = inflate(&z, Z_NO_FLUSH);
    out.append(buffer, sizeof buffer - z.avail_out);
    if (out.size() > kMaxBytes) return too_large(path);
    if (status == Z_STREAM_END && z.avail_in > 0) {  // gzip files may be concatenated
      if (inflateReset(&z) != Z_OK) break;
      status = Z_OK;
    }
  }
  if (status != Z_STREAM_END) return io_error("the gzip data is damaged or cut short", path);
  return out;
}

Result<std::string> unzstd(const std::string& in, const std::string& path) {
  std::unique_ptr<ZSTD_DStream, size_t (*)(ZSTD_DStream*)> stream(ZSTD_createDStream(), &ZSTD_freeDStream);
  ZSTD_inBuffer source{in.data(), in.size(), 0};
  std::string out;
  char buffer[1 << 16];
  size_t left = 1;
  while (source.pos < source.size || left != 0) {
    ZSTD_outBuffer target{buffer, sizeof buffer, 0};
    size_t before = source.pos;
    left = ZSTD_decompressStream(stream.get(), &target, &source);
    if (ZSTD_isError(left)) return io_error(std::string("the zstd data is damaged: ") + ZSTD_getErrorName(left), path);
    out.append(buffer, target.pos);
    if (out.size() > kMaxBytes) return too_large(path);
    if (source.pos == before && target.pos == 0 && left != 0) return io_error("the zstd data is cut short", path);
  }
  return out;
}

}  // namespace

Result<std::string> read_file(const std::string& path) {
  auto raw = read_raw(path);
  if (!raw) return raw;
  if (raw->starts_with("\x1f\x8b")) return gunzip(*raw, path);
  if (raw->starts_with("\x28\xb5\x2f\xfd")) return unzstd(*raw, path);
  return raw;
}

Result<ir::ModulePtr> parse_module(std::string_view text, std::string_view file) {
  size_t first = text.find_first_not_of(" \t\r\n");
  if (first == text.npos) {
    return Error{Code::kParse, "expected a module, got an empty file", std::string(file),
                 "a module is JSON saved by TVM, or TVMScript text"};
  }
  if (text[first] == '{') return import_tvm_json(text, file);
  auto module = ir::parse(text, file);
  if (module || text.find("prim_func") != text.npos) return module;
  return Error{Code::kParse, "expected a module, got a file that is neither TVM's JSON nor TVMScript", std::string(file),
               "TVM's save_json writes the one; the other has functions under @T.prim_func"};
}

Result<ir::ModulePtr> load_module(const std::string& path) {
  auto text = read_file(path);
  if (!text) return text.error();
  return parse_module(*text, path == "-" ? "<stdin>" : path);
}

}  // namespace kiln
