#include "cases/case.h"

#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <filesystem>

#include "import/import.h"

namespace kiln::cases {

namespace {

namespace fs = std::filesystem;
using Json = rapidjson::Value;

bool deeper_than(int levels, const Json& v) {
  if (levels == 0) return true;
  auto member_is = [&](const auto& m) { return deeper_than(levels - 1, m.value); };
  if (v.IsObject()) return std::any_of(v.MemberBegin(), v.MemberEnd(), member_is);
  return v.IsArray() && std::any_of(v.Begin(), v.End(), [&](const Json& item) { return deeper_than(levels - 1, item); });
}

// Reads typed members; the first fault stays in `error`.
class Reader {
 public:
  explicit Reader(std::string folder) : folder_(std::move(folder)) {}
  std::optional<Error> error;

  void fail(std::string message) {
    if (!error) error = Error{Code::kParse, std::move(message), folder_ + "/case.json", ""};
  }
  const Json* find(const Json& o, const char* key) {
    if (!o.IsObject()) return fail(std::string("expected an object with key '") + key + "'"), nullptr;
    auto it = o.FindMember(key);
    return it == o.MemberEnd() || it->value.IsNull() ? nullptr : &it->value;
  }
  std::string text(const Json& o, const char* key, bool needed = true) {
    const Json* v = find(o, key);
    if (v && v->IsString()) return {v->GetString(), v->GetStringLength()};
    if (v || needed) fail(std::string("expected a string under key '") + key + "'");
    return {};
  }
  double number(const Json& o, const char* key, double fallback) {
    const Json* v = find(o, key);
    if (v && !v->IsNumber()) fail(std::string("expected a number under key '") + key + "'");
    return v && v->IsNumber() ? v->GetDouble() : fallback;
  }
  template <class F>
  void each(const Json& o, const char* key, F&& f) {
    const Json* v = find(o, key);
    if (!v) return;
    if (!v->IsArray()) return fail(std::string("expected a list under key '") + key + "'");
    for (const Json& item : v->GetArray()) f(item);
  }
  ir::DataType dtype(const Json& o, const char* key = "dtype") {
    auto t = ir::parse_dtype(text(o, key));
    if (!t) fail(t.error().message);
    return t ? *t : ir::kVoid;
  }
  std::string path(const std::string& relative) const {
    return relative.empty() ? "" : (fs::path(folder_) / relative).lexically_normal().string();
  }
  // A number or an expression, as text.
  std::string expression(const Json& v) {
    if (v.IsString()) return v.GetString();
    if (v.IsBool()) return v.GetBool() ? "1" : "0";
    if (v.IsInt64()) return std::to_string(v.GetInt64());
    if (v.IsUint64()) return std::to_string(static_cast<int64_t>(v.GetUint64()));  // the same bits
    if (v.IsDouble()) return to_json(v);
    return fail("expected a number or an expression"), "0";
  }
  Number value(const Json& v) {
    if (v.IsBool()) return int64_t{v.GetBool()};
    if (v.IsInt64()) return v.GetInt64();
    if (v.IsUint64()) return static_cast<int64_t>(v.GetUint64());
    if (v.IsDouble()) return v.GetDouble();
    return fail("expected a number as value"), Number(int64_t{0});
  }
  static std::string to_json(const Json& v) {
    rapidjson::StringBuffer buffer;
    rapidjson::Writer<rapidjson::StringBuffer, rapidjson::UTF8<>, rapidjson::UTF8<>, rapidjson::CrtAllocator,
                      rapidjson::kWriteNanAndInfFlag>
        writer(buffer);
    v.Accept(writer);
    return {buffer.GetString(), buffer.GetSize()};
  }

  void params(const Json& doc, Case& c) {
    each(doc, "params", [&](const Json& o) {
      Param p;
      p.name = text(o, "name");
      p.is_tensor = text(o, "kind") == "tensor";
      p.dtype = dtype(o);
      if (!p.is_tensor) {
        const Json* v = find(o, "value");
        if (!v)
          fail("scalar parameter '" + p.name + "' has no value");
        else
          p.value = value(*v), c.sizes[p.name] = p.value;
      }
      p.input = path(text(o, "input", false));
      if (std::string e = text(o, "expected", false); !e.empty()) p.expected.push_back({"", path(e)});
      if (find(o, "expected_any")) p.expected.clear();
      each(o, "expected_any", [&](const Json& a) { p.expected.push_back({text(a, "policy"), path(text(a, "expected"))}); });
      p.dont_care = path(text(o, "dont_care", false));
      p.compare_bits = text(o, "compare", false) == "bits";
      if (const Json* t = find(o, "tolerance")) p.rtol = number(*t, "rtol", 0), p.atol = number(*t, "atol", 0);
      each(o, find(o, "concrete_shape") ? "concrete_shape" : "shape", [&](const Json& d) { p.shape.push_back(expression(d)); });
      if (const Json* s = find(o, "input_sparse")) sparse(*s, p);
      c.params.push_back(std::move(p));
    });
  }
  // {"fill": v, "indices": [...], "values": [...]}, {"index": value, ...} or [[index, value], ...].
  void sparse(const Json& s, Param& p) {
    p.sparse.emplace();
    auto add = [&](int64_t index, const Json& v) {
      if (v.IsNumber())
        p.sparse->elements.emplace_back(index, v.GetDouble());
      else
        fail("expected numbers under key 'input_sparse'");
    };
    if (s.IsArray()) {
      for (const Json& pair : s.GetArray()) {
        if (pair.IsArray() && pair.Size() == 2 && pair[0].IsInt64())
          add(pair[0].GetInt64(), pair[1]);
        else
          fail("expected pairs of index and value under key 'input_sparse'");
      }
      return;
    }
    if (!s.IsObject()) return fail("expected an object under key 'input_sparse'");
    p.sparse->fill = number(s, "fill", 0);
    const Json *indices = find(s, "indices"), *values = find(s, "values");
    if (indices && values && indices->IsArray() && values->IsArray()) {
      if (indices->Size() != values->Size()) return fail("expected as many values as indices under key 'input_sparse'");
      for (unsigned i = 0; i < indices->Size(); ++i) {
        if (!(*indices)[i].IsInt64()) return fail("expected whole numbers as indices under key 'input_sparse'");
        add((*indices)[i].GetInt64(), (*values)[i]);
      }
      return;
    }
    if (values && values->IsObject()) return entries(*values, add);
    entries(s, add);
  }
  template <class F>
  void entries(const Json& o, F&& add) {
    for (auto& m : o.GetObject()) {
      std::string_view key(m.name.GetString(), m.name.GetStringLength());
      if (!key.empty() && key.find_first_not_of("0123456789") == key.npos) add(std::atoll(key.data()), m.value);
    }
  }

  void launches(const Json& doc, Case& c) {
    each(doc, "launches", [&](const Json& o) {
      Launch l;
      l.kernel = text(o, "kernel");
      expressions(o, "grid", l.grid), expressions(o, "block", l.block), expressions(o, "cluster", l.cluster);
      if (const Json* bytes = find(o, "smem")) l.shared_bytes = expression(*bytes);
      l.flops = expression_of(o, {"flops"});
      each(o, "args", [&](const Json& a) { l.args.push_back(argument(a)); });
      c.launches.push_back(std::move(l));
    });
    each(doc, "host_allocs", [&](const Json& o) {
      Workspace w{text(o, "name"), dtype(o), {}};
      each(o, find(o, "concrete_shape") ? "concrete_shape" : "shape", [&](const Json& d) { w.shape.push_back(expression(d)); });
      c.workspaces.push_back(std::move(w));
    });
  }
  void expressions(const Json& o, const char* key, std::vector<std::string>& out) {
    each(o, key, [&](const Json& d) { out.push_back(expression(d)); });
  }
  // The first of the keys that is there; "0" for none.
  std::string expression_of(const Json& o, std::initializer_list<const char*> keys) {
    for (const char* key : keys) {
      if (const Json* v = find(o, key)) return expression(*v);
    }
    return "0";
  }
  void tensor_map(const Json& a, TensorMapFields& m) {
    m.im2col = text(a, "mode", false) == "im2col";
    m.dtype = expression_of(a, {"dtype"});
    expressions(a, "global_dim", m.dims), expressions(a, "encode_global_strides", m.strides), expressions(a, "box_dim", m.box);
    expressions(a, "element_strides", m.element_strides);
    expressions(a, "lower_corner", m.lower), expressions(a, "upper_corner", m.upper);
    m.pixels = expression_of(a, {"pixels_per_column"}), m.channels = expression_of(a, {"channels_per_pixel"});
    m.interleave = expression_of(a, {"interleave"}), m.swizzle = expression_of(a, {"swizzle"});
    m.l2_promotion = expression_of(a, {"l2_promotion"}), m.oob_fill = expression_of(a, {"oob_fill"});
  }
  Argument argument(const Json& a) {
    Argument r;
    std::string kind = text(a, "kind");
    if (kind == "tensor") {
      r.name = text(a, "tensor");
      if (const Json* offset = find(a, "byte_offset")) r.byte_offset = expression(*offset);
    } else if (kind == "scalar") {
      r.kind = Argument::Kind::kScalar;
      r.dtype = dtype(a);
      // The number that belongs to the shipped data, where the case gives it.
      const Json* v = find(a, "value");
      if (!v) v = find(a, "concrete");
      if (v)
        r.value = expression(*v);
      else
        fail("a scalar argument has no value");
      r.name = text(a, "param", false);
    } else if (kind == "workspace") {
      r.kind = Argument::Kind::kWorkspace;
      r.name = text(a, "workspace");
    } else if (kind == "tensormap") {
      r.kind = Argument::Kind::kTensorMap;
      r.name = text(a, "base", false);
      if (const Json* offset = find(a, "byte_offset")) r.byte_offset = expression(*offset);
      tensor_map(a, r.map);
    } else {
      fail("argument kind '" + kind + "' is not known");
    }
    return r;
  }

  void expectations(const Json& doc, Case& c) {
    const Json* compare = find(doc, "compare");
    c.compare = !(compare && compare->IsBool() && !compare->GetBool());
    if (const Json* e = find(doc, "expect")) c.expect_error = text(*e, "error", false);
    c.expect_or_error = text(doc, "expect_or_error", false);
    const Json* t = find(doc, "expect_text");
    if (!t) return;
    if (!t->IsObject()) return patterns(*t, c.text_must);
    for (auto& m : t->GetObject())
      patterns(m.value, std::string_view(m.name.GetString()).find("not") != std::string_view::npos ? c.text_must_not : c.text_must);
  }
  void patterns(const Json& v, std::vector<std::string>& out) {
    if (v.IsString()) return out.push_back(v.GetString());
    if (!v.IsArray()) return fail("expected patterns under key 'expect_text'");
    for (const Json& s : v.GetArray()) {
      if (!s.IsString()) return fail("expected patterns under key 'expect_text'");
      out.push_back(s.GetString());
    }
  }

 private:
  std::string folder_;
};

}  // namespace

Result<Case> read_case(const std::string& folder) {
  auto file = read_file(folder + "/case.json");
  if (!file) return file.error();
  rapidjson::Document doc;
  doc.Parse<rapidjson::kParseNanAndInfFlag | rapidjson::kParseFullPrecisionFlag | rapidjson::kParseIterativeFlag>(file->data(),
                                                                                                                  file->size());
  Reader r(folder);
  if (doc.HasParseError() || !doc.IsObject()) {
    return Error{Code::kParse, "expected a JSON object", folder + "/case.json", "byte " + std::to_string(doc.GetErrorOffset())};
  }
  if (deeper_than(64, doc)) return Error{Code::kParse, "nested more than 64 levels deep", folder + "/case.json", ""};
  Case c;
  c.folder = folder;
  c.module = r.path(r.text(doc, "device_module"));
  if (const Json* t = r.find(doc, "target"); t && t->IsObject())
    c.target = Reader::to_json(*t);
  else if (t && t->IsString())
    c.target = t->GetString();
  else
    r.fail("expected a target under key 'target'");
  if (const Json* dyn = r.find(doc, "dyn")) {
    if (!dyn->IsObject()) return Error{Code::kParse, "expected an object under key 'dyn'", folder + "/case.json", ""};
    for (auto& m : dyn->GetObject()) c.sizes[m.name.GetString()] = r.value(m.value);
  }
  r.params(doc, c);
  r.launches(doc, c);
  r.expectations(doc, c);
  if (r.error) return *r.error;
  return c;
}

Result<std::vector<std::string>> find_cases(const std::string& path) {
  std::error_code ec;
  if (fs::exists(fs::path(path) / "case.json", ec)) return std::vector<std::string>{path};
  if (!fs::is_directory(path, ec)) {
    std::string hint = fs::exists(path, ec) ? "a module alone does not say on what to launch it" : "";
    return Error{Code::kIo, "expected a folder with case.json, or a folder of such folders", path, hint};
  }
  std::vector<std::string> found;
  for (fs::recursive_directory_iterator it(path, fs::directory_options::skip_permission_denied, ec), end; !ec && it != end;
       it.increment(ec)) {
    if (it->path().filename() == "case.json") found.push_back(it->path().parent_path().string());
  }
  if (found.empty()) return Error{Code::kIo, "no case.json is below this folder", path, ""};
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace kiln::cases
