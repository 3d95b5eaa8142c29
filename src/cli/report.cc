#include <fmt/format.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <cstdio>

#include "cli/cli.h"

namespace kiln::cli {

std::string quote(std::string_view text) {
  rapidjson::StringBuffer valid;
  for (size_t at = 0; at < text.size();) {
    rapidjson::MemoryStream in(text.data() + at, text.size() - at);
    size_t before = valid.GetSize();
    if (rapidjson::UTF8<>::Validate(in, valid)) {
      at += in.Tell();
    } else {
      valid.Pop(valid.GetSize() - before);
      for (char c : std::string_view("\xef\xbf\xbd")) valid.Put(c);
      ++at;
    }
  }
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  writer.String(valid.GetString(), static_cast<rapidjson::SizeType>(valid.GetSize()));
  return {buffer.GetString(), buffer.GetSize()};
}

std::string printable(std::string_view text) {
  std::string out;
  for (char c : text) {
    auto u = static_cast<unsigned char>(c);
    if ((u < 0x20 && c != '\n' && c != '\t') || u == 0x7f)
      out += fmt::format("\\x{:02x}", u);
    else
      out += c;
  }
  return out;
}

int report(const Error& e, bool json) {
  if (json) {
    fmt::print("{{\"error\": {{\"code\": {}, \"message\": {}, \"place\": {}, \"hint\": {}}}}}\n", quote(code_name(e.code)),
               quote(e.message), quote(e.place), quote(e.hint));
  }
  std::string text = printable(e.to_string());
  std::fprintf(stderr, "kiln: error: %s\n", text.c_str());  // never throws, also where nobody can read it
  return 1;
}

}  // namespace kiln::cli
