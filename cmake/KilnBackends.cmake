# Finds backends by their manifests, so that adding one touches its folder only.
#
# kiln_add_backends() makes an object library kiln_backend_<name>_objects of every backends/<name>/ with a manifest.json, with a generated
# header backends/<name>_device.h that holds the texts of its device/ folder, and sets
#   KILN_BACKENDS          the names
#   KILN_BACKEND_OBJECTS   the objects of all
#   KILN_BACKEND_TABLE     the source of the table of built-in backends; KILN_EMPTY_BACKEND_TABLE is one without any

function(kiln_escape_raw OUT TEXT)
  set(${OUT} "R\"kiln__(${TEXT})kiln__\"" PARENT_SCOPE)
endfunction()

# Writes the source of a table with the backends in the list NAMES.
function(kiln_backend_table FILE NAMES)
  set(declarations "")
  set(entries "")
  foreach(name IN LISTS NAMES)
    string(APPEND declarations "namespace kiln::${name} { const kiln::registry::Builtin& backend(); }\n")
    string(APPEND entries "&kiln::${name}::backend(), ")
  endforeach()
  file(CONFIGURE OUTPUT ${FILE} CONTENT
"#include \"registry/backend.h\"
@declarations@
namespace kiln::registry {
std::span<const Builtin* const> builtin_backends() {
  static const Builtin* const table[] = {@entries@nullptr};
  return std::span(table).first(std::size(table) - 1);
}
}  // namespace kiln::registry
" @ONLY)
endfunction()

# Writes a header in which each file of FOLDER is a string constant kiln::<NAME>::device::<file name without extension>; then MORE.
function(kiln_snippets FOLDER NAME HEADER MORE)
  file(GLOB snippets CONFIGURE_DEPENDS ${FOLDER}/*)
  set(constants "")
  foreach(snippet IN LISTS snippets)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${snippet})
    get_filename_component(stem ${snippet} NAME_WE)
    file(READ ${snippet} text)
    kiln_escape_raw(literal "${text}")
    string(APPEND constants "inline constexpr std::string_view ${stem} = ${literal};\n")
  endforeach()
  file(CONFIGURE OUTPUT ${HEADER} CONTENT
"#pragma once
#include <string_view>
namespace kiln::${NAME}::device {
@constants@@MORE@}  // namespace kiln::${NAME}::device
" @ONLY)
endfunction()

function(kiln_add_backends)
  file(GLOB manifests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/backends/*/manifest.json)
  set(generated ${CMAKE_BINARY_DIR}/generated)
  set(names "")
  set(objects "")
  foreach(manifest IN LISTS manifests)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${manifest})
    get_filename_component(folder ${manifest} DIRECTORY)
    get_filename_component(name ${folder} NAME)
    file(GLOB_RECURSE found CONFIGURE_DEPENDS ${folder}/*.cc)
    list(FILTER found EXCLUDE REGEX "/tests/")
    list(APPEND names ${name})
    add_library(kiln_backend_${name}_objects OBJECT ${found})
    target_link_libraries(kiln_backend_${name}_objects PRIVATE kiln_options fmt::fmt-header-only tvm_ffi::header)
    target_include_directories(kiln_backend_${name}_objects PRIVATE ${generated})
    list(APPEND objects $<TARGET_OBJECTS:kiln_backend_${name}_objects>)

    file(READ ${manifest} text)
    kiln_escape_raw(literal "${text}")
    kiln_snippets(${folder}/device ${name} ${generated}/backends/${name}_device.h "inline constexpr const char* manifest_json = ${literal};\n")
  endforeach()
  kiln_backend_table(${generated}/builtin_backends.cc "${names}")
  kiln_backend_table(${generated}/no_backends.cc "")
  target_include_directories(kiln_options INTERFACE ${generated})
  set(KILN_BACKENDS ${names} PARENT_SCOPE)
  set(KILN_BACKEND_OBJECTS ${objects} PARENT_SCOPE)
  set(KILN_BACKEND_TABLE ${generated}/builtin_backends.cc PARENT_SCOPE)
  set(KILN_EMPTY_BACKEND_TABLE ${generated}/no_backends.cc PARENT_SCOPE)
endfunction()
