#include <fmt/format.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <cstdio>

#include "cli/cli.h"

namespace kiln::cli {

std::string quote(std::string_view text) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  writer.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
  return {buffer.GetString(), buffer.GetSize()};
}

int report(const Error& e, bool json) {
  if (json) {
    fmt::print("{{\"error\": {{\"code\": {}, \"message\": {}, \"place\": {}, \"hint\": {}}}}}\n", quote(code_name(e.code)),
               quote(e.message), quote(e.place), quote(e.hint));
  }
  fmt::print(stderr, "kiln: error: {}\n", e.to_string());
  return 1;
}

}  // namespace kiln::cli
