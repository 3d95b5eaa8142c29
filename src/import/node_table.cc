#include "import/node_table.h"

#include <rapidjson/error/en.h>
#include <rapidjson/reader.h>

#include <limits>

namespace kiln::tvm_json {

namespace {

// RapidJSON SAX handler for the container; every callback returns false on an error, which ends the parse.
class Handler {
 public:
  explicit Handler(NodeTable& table) : t_(table) {}
  const Error* error() const { return failed_ ? &error_ : nullptr; }
  bool complete() const { return (seen_ & 3) == 3; }

  bool Null() { return value({RawValue::Kind::kNull, 0}); }
  bool Bool(bool v) { return value({RawValue::Kind::kBool, v}); }
  bool Int(int v) { return value({RawValue::Kind::kInt, v}); }
  bool Uint(unsigned v) { return value({RawValue::Kind::kInt, v}); }
  bool Int64(int64_t v) { return value({RawValue::Kind::kInt, v}); }
  bool Uint64(uint64_t v) { return value({RawValue::Kind::kUInt, static_cast<int64_t>(v)}); }
  bool Double(double v) { return value(RawValue(v)); }
  bool RawNumber(const char*, unsigned, bool) { return false; }  // not asked for
  bool String(const char* s, unsigned n, bool) {
    if (state_ == State::kNode) return type({s, n});
    return value({s, n});
  }
  bool StartObject() {
    switch (state_) {
      case State::kStart: state_ = State::kTop; return true;
      case State::kNodes:
        state_ = State::kNode;
        part_ = Part::kNothing;
        return true;
      case State::kTop:
        if (key_ != Key::kMetadata) return fail("expected a list or a number, got an object");
        state_ = State::kMetadata;
        return true;
      case State::kData:
        if (t_.nodes.back().type != NodeType::kOther && row_->size == 0) return fail("expected a plain value or a list, got an object");
        state_ = State::kFields;
        if (t_.nodes.back().type != NodeType::kOther) {
          t_.nodes.back().count = row_->size;
          t_.values.resize(t_.values.size() + row_->size);
          position_ = 0;
        }
        return true;
      case State::kSkip:
      case State::kFields:
      case State::kMetadata: return start_skip();
      case State::kNode:
      case State::kElements: break;
    }
    return fail("did not expect an object here");
  }
  bool StartArray() {
    switch (state_) {
      case State::kTop:
        if (key_ != Key::kNodes) return fail("did not expect a list here");
        state_ = State::kNodes;
        return true;
      case State::kData: {
        NodeType type = t_.nodes.back().type;
        if (type == NodeType::kOther) return start_skip();
        if (type != NodeType::kArray && type != NodeType::kMap) return fail("did not expect a list as data");
        state_ = State::kElements;
        return true;
      }
      case State::kSkip:
      case State::kFields:
      case State::kMetadata: return start_skip();
      case State::kStart:
      case State::kNodes:
      case State::kNode:
      case State::kElements: break;
    }
    return fail("did not expect a list here");
  }
  bool Key(const char* s, unsigned n, bool) {
    std::string_view k(s, n);
    switch (state_) {
      case State::kTop: return top_key(k);
      case State::kNode: return node_key(k);
      case State::kFields: return field_key(k);
      case State::kMetadata: in_version_ = k == "tvm_version"; return true;
      case State::kData: return fail("unexpected key '" + std::string(k.substr(0, 60)) + "' in a node (expected type, then data)");
      default: return true;
    }
  }
  bool EndObject(unsigned) {
    switch (state_) {
      case State::kTop: state_ = State::kStart; return true;
      case State::kFields: state_ = State::kData, part_ = Part::kDone; return true;
      case State::kNode:
      case State::kData:
        if (part_ == Part::kNothing) return fail("a node without a type");
        if (part_ == Part::kType && t_.nodes.back().type != NodeType::kNone && t_.nodes.back().type != NodeType::kOther)
          return fail("a node without data");
        state_ = State::kNodes;
        return true;
      case State::kMetadata: state_ = State::kTop; return true;
      case State::kSkip: return end_skip();
      default: return true;
    }
  }
  bool EndArray(unsigned n) {
    switch (state_) {
      case State::kNodes: state_ = State::kTop; return true;
      case State::kElements:
        t_.nodes.back().count = n;
        state_ = State::kData, part_ = Part::kDone;
        return true;
      case State::kSkip: return end_skip();
      default: return true;
    }
  }

 private:
  enum class State : uint8_t { kStart, kTop, kNodes, kNode, kData, kFields, kElements, kMetadata, kSkip };
  enum class Key : uint8_t { kRoot, kNodes, kMetadata };
  enum class Part : uint8_t { kNothing, kType, kDone };  // what of a node was read

  bool fail(std::string message) {
    if (failed_) return false;
    failed_ = true;
    error_ = {Code::kParse, std::move(message), t_.nodes.empty() ? "" : t_.name(t_.nodes.size() - 1), ""};
    return false;
  }
  // Content of undecoded nodes and of fields with a nested value: walked over, two levels at most, as TVM writes none deeper.
  bool start_skip() {
    if (state_ != State::kSkip) outer_ = state_;
    if (++skip_ > 8) return fail("nested too deeply");
    state_ = State::kSkip;
    return true;
  }
  bool end_skip() {
    if (--skip_ == 0) state_ = outer_, part_ = outer_ == State::kData ? Part::kDone : part_;
    return true;
  }
  bool top_key(std::string_view k) {
    unsigned bit;
    if (k == "root_index")
      key_ = Key::kRoot, bit = 1;
    else if (k == "nodes")
      key_ = Key::kNodes, bit = 2;
    else if (k == "metadata")
      key_ = Key::kMetadata, bit = 4;
    else
      return fail("unexpected key '" + std::string(k.substr(0, 60)) + "' (expected root_index, nodes and metadata)");
    if (seen_ & bit) return fail("key '" + std::string(k) + "' is given twice");
    seen_ |= bit;
    return true;
  }
  bool node_key(std::string_view k) {
    if (k == "type" && part_ == Part::kNothing) return true;
    if (k == "data" && part_ == Part::kType) {
      state_ = State::kData;
      return true;
    }
    return fail("unexpected key '" + std::string(k.substr(0, 60)) + "' in a node (expected type, then data)");
  }
  bool type(std::string_view key) {
    if (part_ != Part::kNothing) return fail("a node's data comes after its type");
    if (t_.nodes.size() == std::numeric_limits<uint32_t>::max()) return fail("too many nodes");
    NodeType type = cached_type(key);
    uint32_t unknown = 0;
    if (type == NodeType::kOther) {
      unknown = static_cast<uint32_t>(t_.unknown_types.size());
      t_.unknown_types.push_back(key);
    }
    row_ = &type_row(type);
    bool list = type == NodeType::kArray || type == NodeType::kMap;
    t_.nodes.push_back({type, static_cast<uint32_t>(list ? t_.elements.size() : t_.values.size()), 0, unknown});
    part_ = Part::kType;
    return true;
  }
  // The few dozen types of a file come again and again.
  NodeType cached_type(std::string_view key) {
    size_t hash =
        key.size() * 31 + (key.empty() ? 0 : static_cast<unsigned char>(key.back()) * 7u + static_cast<unsigned char>(key[key.size() / 2]));
    auto& [known, type] = types_[hash % types_.size()];
    if (known != key) known = key, type = find_type(key);
    return type;
  }
  bool field_key(std::string_view k) {
    if (t_.nodes.back().type == NodeType::kOther) return true;
    // A type's fields come in the same order in all of its nodes.
    uint8_t& guess = order_[static_cast<size_t>(row_->type)][std::min<size_t>(position_++, kMaxFields - 1)];
    for (uint8_t tried = 0; tried <= row_->size; ++tried) {
      uint8_t i = tried == 0 ? guess : static_cast<uint8_t>(tried - 1);
      if (i >= row_->size || row_->fields[i].name != k) continue;
      guess = i;
      slot_ = t_.nodes.back().first + i;
      if (t_.values[slot_].kind != RawValue::Kind::kAbsent) return fail("field '" + std::string(k) + "' is given twice");
      return true;
    }
    return fail("field '" + std::string(k.substr(0, 60)) + "' is not known");
  }
  bool element(const RawValue& v) {
    bool earlier = v.kind == RawValue::Kind::kInt && v.integer >= 0 && v.integer < static_cast<int64_t>(t_.nodes.size()) - 1;
    if (!earlier)
      return fail("element " + std::to_string(t_.elements.size() - t_.nodes.back().first) + " must be the index of an earlier node");
    t_.elements.push_back(static_cast<uint32_t>(v.integer));
    return true;
  }
  bool value(RawValue v) {
    switch (state_) {
      case State::kElements: return element(v);
      case State::kFields:
        if (t_.nodes.back().type != NodeType::kOther) t_.values[slot_] = v;
        return true;
      case State::kData:
        if (t_.nodes.back().type == NodeType::kOther) {
          part_ = Part::kDone;
          return true;
        }
        if (row_->size != 0) return fail("expected an object as data");
        if (part_ == Part::kDone) return fail("data is given twice");
        t_.values.push_back(v);
        t_.nodes.back().count = 1;
        part_ = Part::kDone;
        return true;
      case State::kTop:
        if (key_ != Key::kRoot) return fail("expected a list or an object");
        t_.root = v;
        return true;
      case State::kMetadata:
        if (in_version_ && v.kind == RawValue::Kind::kString) t_.version = v.string();
        return true;
      case State::kSkip: return true;
      case State::kStart:
      case State::kNodes:
      case State::kNode: break;
    }
    return fail("did not expect a plain value here");
  }

  NodeTable& t_;
  State state_ = State::kStart, outer_ = State::kStart;
  enum Key key_ = Key::kRoot;
  Part part_ = Part::kNothing;
  const TypeRow* row_ = nullptr;
  static constexpr size_t kMaxFields = 16;
  std::array<std::pair<std::string_view, NodeType>, 256> types_{};  // "" is kOther
  std::array<std::array<uint8_t, kMaxFields>, kNodeTypes> order_{};
  size_t position_ = 0;
  size_t slot_ = 0;
  unsigned seen_ = 0;
  int skip_ = 0;
  bool in_version_ = false, failed_ = false;
  Error error_;
};

}  // namespace

std::string NodeTable::name(size_t node) const {
  std::string out = "node " + std::to_string(node);
  if (node < nodes.size()) {
    const RawNode& n = nodes[node];
    std::string_view key = n.type == NodeType::kOther ? unknown_types[n.key].substr(0, 60) : type_row(n.type).key;
    out.append(" (").append(key).append(")");
  }
  return out;
}

Result<NodeTable> read_node_table(std::string_view text) {
  NodeTable table;
  table.text = text;
  // Bytes a node and a value of a file without white space; growing costs more than what an indented file leaves unused.
  table.nodes.reserve(text.size() / 56);
  table.values.reserve(text.size() / 20);
  table.elements.reserve(text.size() / 40);
  Handler handler(table);
  rapidjson::Reader reader;
  rapidjson::InsituStringStream stream(table.text.data());
  constexpr unsigned kFlags = rapidjson::kParseInsituFlag | rapidjson::kParseNanAndInfFlag | rapidjson::kParseFullPrecisionFlag;
  rapidjson::ParseResult result = reader.Parse<kFlags>(stream, handler);
  if (handler.error()) return *handler.error();
  if (result.IsError()) {
    std::string what = rapidjson::GetParseError_En(result.Code());
    if (!what.empty() && what.back() == '.') what.pop_back();
    for (char& c : what) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return Error{Code::kParse, "not valid JSON: " + what, "byte " + std::to_string(result.Offset()), "is the file complete?"};
  }
  if (stream.Tell() != text.size()) return Error{Code::kParse, "not valid JSON: a zero byte", "byte " + std::to_string(stream.Tell()), ""};
  if (!handler.complete()) return Error{Code::kParse, "expected the keys root_index and nodes of a module saved by TVM", "", ""};
  return table;
}

}  // namespace kiln::tvm_json
