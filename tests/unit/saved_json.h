// Modules as TVM saves them, small and by hand, for tests of what reads them.
#pragma once

#include <string>
#include <vector>

namespace kiln::testing {

inline std::string container(const std::vector<std::string>& nodes, size_t root, const std::string& version) {
  std::string out = "{\"root_index\":" + std::to_string(root) + ",\"nodes\":[";
  for (size_t i = 0; i < nodes.size(); ++i) out += (i ? "," : "") + nodes[i];
  return out + "],\"metadata\":{\"tvm_version\":\"" + version + "\"}}";
}

inline std::string node(const std::string& type, const std::string& data) { return "{\"type\":\"" + type + "\",\"data\":" + data + "}"; }

// Adds the function "k" around the last of `nodes`, its body, and the module around that.
inline std::string with_function(std::vector<std::string> nodes, const char* type_field, const char* map_field, const std::string& version,
                                 const std::string& params) {
  size_t n = nodes.size();
  auto at = [&](size_t i) { return std::to_string(n + i); };
  nodes.push_back(node("ffi.Array", params));
  nodes.push_back(node("tirx.PrimFunc", std::string("{\"span\":0,\"") + type_field + "\":0,\"attrs\":6,\"params\":" + at(0) +
                                            ",\"ret_type\":4," + map_field + "\"body\":" + std::to_string(n - 1) + "}"));
  nodes.push_back(node("ffi.Map", "[2," + at(1) + "]"));
  nodes.push_back(
      node("ir.IRModule", "{\"functions\":" + at(2) + ",\"global_var_map_\":5,\"source_map\":0,\"attrs\":6,\"global_infos\":5}"));
  return container(nodes, n + 3, version);
}

// A module of TileLang's dialect. `body` are the nodes from index 8 on; the last is the function's body. Before them:
// 0 None, 1 "k", 2 GlobalVar, 3 [], 4 void, 5 {}, 6 no attributes, 7 int32 0.
inline std::string tilelang(const std::vector<std::string>& body, const std::string& params = "[]") {
  std::vector<std::string> nodes = {"{\"type\":\"None\"}",
                                    node("ffi.String", "\"k\""),
                                    node("ir.GlobalVar", R"({"span":0,"struct_info_":0,"name_hint":1})"),
                                    node("ffi.Array", "[]"),
                                    node("ir.TupleType", R"({"span":0,"fields":3})"),
                                    node("ffi.Map", "[]"),
                                    node("ir.DictAttrs", R"({"__dict__":5})"),
                                    node("ir.IntImm", R"({"span":0,"dtype":"int32","value":0})")};
  nodes.insert(nodes.end(), body.begin(), body.end());
  return with_function(nodes, "struct_info_", "\"buffer_map\":5,", "0.25.dev0", params);
}

// A module of Apache TVM's dialect; `body` are the nodes from index 10 on. Before them:
// 0 None, 1 "k", 2 GlobalVar, 3 [], 4 void, 5 {}, 6 no attributes, 7 type int32, 8 the number 0, 9 int32 0.
inline std::string apache_tvm(const std::vector<std::string>& body, const std::string& params = "[]") {
  std::vector<std::string> nodes = {"{\"type\":\"None\"}",
                                    node("ffi.String", "\"k\""),
                                    node("ir.GlobalVar", R"({"span":0,"ty":0,"name_hint":1})"),
                                    node("ffi.Array", "[]"),
                                    node("ir.TupleType", R"({"span":0,"fields":3})"),
                                    node("ffi.Map", "[]"),
                                    node("ir.DictAttrs", R"({"__dict__":5})"),
                                    node("ir.PrimType", R"({"span":0,"dtype":"int32"})"),
                                    node("int", "0"),
                                    node("ir.IntImm", R"({"span":0,"ty":7,"value":8})")};
  nodes.insert(nodes.end(), body.begin(), body.end());
  return with_function(nodes, "ty", "", "0.27.0.post1", params);
}

}  // namespace kiln::testing
