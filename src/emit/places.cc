#include "emit/places.h"

#include <algorithm>

#include "emit/c_family.h"

namespace kiln::emit {

namespace {

std::string file_name(std::string_view path) {
  std::string name = comment(path.substr(std::min(path.find_last_of("/\\") + 1, path.size())));
  return name.empty() ? "?" : name;
}

// A line that holds a statement, to which a comment says something.
bool takes_comment(std::string_view line) {
  size_t first = line.find_first_not_of(' ');
  return first != line.npos && line[first] != '}' && line[first] != '#' && line.back() != '\\';
}

}  // namespace

Placed place_lines(const std::string& text, const std::vector<ir::SpanId>& spans, const ir::Module& module, const PlaceStyle& style,
                   int first_line) {
  Placed out;
  out.text.reserve(text.size());
  int line = first_line;
  ir::SpanId current = 0;
  std::string shown, place;
  for (size_t at = 0, i = 0; at < text.size(); ++i, ++line) {
    size_t end = std::min(text.find('\n', at), text.size());
    std::string_view content(text.data() + at, end - at);
    at = end + 1;
    ir::SpanId span = i < spans.size() && spans[i] < module.spans.size() ? spans[i] : 0;
    const ir::Span& s = module.spans[span];
    if (span && span != current) {
      current = span;
      std::string next = file_name(s.file) + ":" + std::to_string(s.line);
      if (next != place) place = next, out.places.push_back({line, place});
    }
    if (span && style.directives && s.line > 0) {
      out.text += "#line " + std::to_string(s.line) + " " + quoted(file_name(s.file)) + "\n";
      if (!out.places.empty() && out.places.back().line == line) ++out.places.back().line;
      ++line;
    }
    out.text += content;
    if (span && style.comments && place != shown && takes_comment(content)) {
      out.text += "  // " + place;
      shown = place;
    }
    out.text += '\n';
  }
  return out;
}

}  // namespace kiln::emit
