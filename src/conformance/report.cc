#include "conformance/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

namespace kiln::conformance {

namespace {

using State = CellResult::State;

char mark(State s) {
  switch (s) {
    case State::kPassed: return '+';
    case State::kRefused: return '-';
    case State::kFailed: return 'F';
    case State::kSkipped: return 's';
  }
  return '?';
}

// "float8_e4m3fn" is "e4m3fn", "float16" is "f16": columns are narrow.
std::string column_name(ir::DataType t) {
  std::string s = ir::to_string(t);
  if (s.starts_with("float8_")) return s.substr(7);
  if (size_t at = s.find('_'); at != std::string::npos) return s.substr(at + 1);
  for (auto [from, to] : {std::pair{"bfloat", "bf"}, {"float", "f"}, {"uint", "u"}, {"int", "i"}}) {
    if (s.starts_with(from)) return to + s.substr(std::string_view(from).size());
  }
  return s;
}

struct RowMarks {
  std::string group, row;
  std::map<std::string, std::string> marks;  // by column: one for each width
};
struct Matrix {
  std::vector<std::string> columns;  // in the order of value_types()
  std::vector<RowMarks> rows;
};

Matrix matrix_of(const Report& r) {
  Matrix m;
  for (ir::DataType t : value_types() + storage_types()) m.columns.push_back(column_name(t));
  std::map<std::string, size_t> index;
  for (size_t i = 0; i < r.cells->size(); ++i) {
    const Cell& c = (*r.cells)[i];
    if (c.dtype.is_void()) continue;  // operators without a generator have no columns
    auto [at, is_new] = index.emplace(c.group + "\n" + c.row, m.rows.size());
    if (is_new) m.rows.push_back({c.group, c.row, {}});
    m.rows[at->second].marks[column_name(c.dtype)] += mark((*r.results)[i].state);
  }
  // The same mark at every width is said once.
  for (RowMarks& row : m.rows) {
    for (auto& [column, marks] : row.marks) {
      if (marks.find_first_not_of(marks[0]) == std::string::npos) marks.resize(1);
    }
  }
  return m;
}

// Columns that a row of the group has, with the width of the widest entry.
std::vector<std::pair<std::string, size_t>> columns_of(const Matrix& m, const std::string& group) {
  std::vector<std::pair<std::string, size_t>> columns;
  for (const std::string& c : m.columns) {
    size_t width = 0;
    for (const RowMarks& row : m.rows) {
      if (auto it = row.marks.find(c); row.group == group && it != row.marks.end()) width = std::max({width, it->second.size(), c.size()});
    }
    if (width) columns.emplace_back(c, width);
  }
  return columns;
}

// The reason with vectors named by their element ("float16x4" is "float16"), so that a refusal at every width is one.
std::string without_lanes(std::string_view reason) {
  std::string out;
  for (size_t at = 0; at < reason.size();) {
    size_t end = at;
    while (end < reason.size() && (std::isalnum(static_cast<unsigned char>(reason[end])) || reason[end] == '_')) ++end;
    std::string_view word = reason.substr(at, end - at);
    auto t = ir::parse_dtype(word);
    out += t && t->is_vector() ? ir::to_string(t->element()) : std::string(word);
    if (end < reason.size()) out += reason[end++];
    at = end;
  }
  return out;
}

// Cells of one state by reason, the most frequent first.
struct Reason {
  std::string text;
  std::vector<std::string> cells;
};
std::vector<Reason> reasons(const Report& r, State state) {
  std::vector<Reason> all;
  std::map<std::string, size_t> index;
  for (size_t i = 0; i < r.cells->size(); ++i) {
    const Cell& c = (*r.cells)[i];
    const CellResult& result = (*r.results)[i];
    if (result.state != state) continue;
    // Failures differ in their numbers: those of a row are shown as one, with the first one's.
    std::string text = state == State::kFailed ? c.row + ": " + result.reason : without_lanes(result.reason);
    auto [at, is_new] = index.emplace(state == State::kFailed ? c.row : text, all.size());
    if (is_new) all.push_back({text, {}});
    all[at->second].cells.push_back(c.name);
  }
  std::stable_sort(all.begin(), all.end(), [](const Reason& a, const Reason& b) { return a.cells.size() > b.cells.size(); });
  return all;
}

constexpr std::string_view kLegend =
    "+ passed, - refused, F failed, s skipped; several marks are for the widths 1, 2, 4, 8, 16 that the row has, one mark for all of them";

std::string listed(const Reason& reason, size_t most) {
  std::string text = fmt::format(
      "{}", fmt::join(reason.cells.begin(), reason.cells.begin() + static_cast<std::ptrdiff_t>(std::min(most, reason.cells.size())), ", "));
  if (reason.cells.size() > most) text += fmt::format(" and {} more", reason.cells.size() - most);
  return text;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '|' || c == '<' || c == '*' || c == '_' || c == '`' || c == '[') out += '\\';
    out += c == '\n' || c == '\r' ? ' ' : c;
  }
  return out;
}

}  // namespace

Counts count(const std::vector<CellResult>& results) {
  Counts n;
  for (const CellResult& r : results) {
    switch (r.state) {
      case State::kPassed: ++n.passed; break;
      case State::kRefused: ++n.refused; break;
      case State::kFailed: ++n.failed; break;
      case State::kSkipped: ++n.skipped; break;
    }
  }
  return n;
}

std::string terminal_text(const Report& r) {
  Matrix m = matrix_of(r);
  size_t label = 0;
  for (const RowMarks& row : m.rows) label = std::max({label, row.row.size(), row.group.size()});
  std::string out = fmt::format("codegen {} for target {}\n{}\n", r.codegen, r.target, kLegend), group;
  std::vector<std::pair<std::string, size_t>> columns;
  for (const RowMarks& row : m.rows) {
    if (row.group != group) {
      group = row.group;
      columns = columns_of(m, group);
      out += fmt::format("\n{:<{}}", group, label);
      for (const auto& [name, width] : columns) out += fmt::format(" {:<{}}", name, width);
      out += "\n";
    }
    std::string line = fmt::format("{:<{}}", row.row, label);
    for (const auto& [name, width] : columns) {
      auto it = row.marks.find(name);
      line += fmt::format(" {:<{}}", it == row.marks.end() ? "" : it->second, width);
    }
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  for (auto [state, title] : {std::pair{State::kSkipped, "skipped"}, {State::kRefused, "refused"}, {State::kFailed, "FAILED"}}) {
    auto all = reasons(r, state);
    if (all.empty()) continue;
    out += fmt::format("\n{}\n", title);
    for (const Reason& reason : all) out += fmt::format("{:6}  {}\n        {}\n", reason.cells.size(), reason.text, listed(reason, 3));
  }
  return out + "\n";
}

std::string markdown_text(const Report& r) {
  Matrix m = matrix_of(r);
  Counts n = count(*r.results);
  std::string out = fmt::format(
      "# Conformance of the codegen `{}`\n\nWritten by `kiln conformance {} --markdown FILE`; see [the conformance "
      "kit](../conformance.md).\n\n"
      "Target `{}`: {} passed, {} refused, {} failed, {} skipped.\n\n{}.\n",
      r.codegen, r.codegen, r.target, n.passed, n.refused, n.failed, n.skipped, kLegend);
  std::string group;
  std::vector<std::pair<std::string, size_t>> columns;
  for (const RowMarks& row : m.rows) {
    if (row.group != group) {
      group = row.group;
      columns = columns_of(m, group);
      out += fmt::format("\n## {}\n\n| |", static_cast<char>(std::toupper(static_cast<unsigned char>(group[0]))) + group.substr(1));
      for (const auto& [name, width] : columns) out += " " + name + " |";
      out += "\n|---|";
      for (size_t i = 0; i < columns.size(); ++i) out += "---|";
      out += "\n";
    }
    out += "| " + escaped(row.row) + " |";
    for (const auto& [name, width] : columns) {
      auto it = row.marks.find(name);
      out += it == row.marks.end() ? " |" : " " + it->second + " |";
    }
    out += "\n";
  }
  for (auto [state, title] : {std::pair{State::kFailed, "Failed"}, {State::kRefused, "Refused"}, {State::kSkipped, "Skipped"}}) {
    auto all = reasons(r, state);
    if (all.empty()) continue;
    out += fmt::format("\n## {}\n\n| cells | reason | which |\n|---|---|---|\n", title);
    for (const Reason& reason : all)
      out += fmt::format("| {} | {} | {} |\n", reason.cells.size(), escaped(reason.text), escaped(listed(reason, 120)));
  }
  return out;
}

}  // namespace kiln::conformance
