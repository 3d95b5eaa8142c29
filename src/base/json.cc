#include "base/json.h"

#include <rapidjson/memorystream.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

namespace kiln {

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

}  // namespace kiln
