# What `kiln new-backend` writes is the C++ example, whose name it replaces: generated/backend_template.h holds its files.
set(folder ${CMAKE_CURRENT_SOURCE_DIR}/examples/cpp_backend)
file(GLOB files CONFIGURE_DEPENDS ${folder}/*)
set(rows "")
foreach(file IN LISTS files)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  get_filename_component(name ${file} NAME)
  file(READ ${file} text)
  kiln_escape_raw(literal "${text}")
  string(APPEND rows "    {\"${name}\", ${literal}},\n")
endforeach()
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/backend_template.h CONTENT
"#pragma once
#include <string_view>
namespace kiln::cli {
struct TemplateFile {
  std::string_view name, text;
};
inline constexpr std::string_view kTemplateName = \"mylang\";
inline constexpr TemplateFile kTemplateFiles[] = {
@rows@};
}  // namespace kiln::cli
" @ONLY)
