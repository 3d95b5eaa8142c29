# Finds backends by their manifests, so that adding one touches its folder only.
#
# kiln_collect_backends(OUT) sets OUT to the sources of every backends/<name>/ with a manifest.json, generated files included: the table of
# built-in backends, and for each backend `<name>_device.h` with the texts of its device/ folder.

function(kiln_escape_raw OUT TEXT)
  set(${OUT} "R\"kiln__(${TEXT})kiln__\"" PARENT_SCOPE)
endfunction()

function(kiln_collect_backends OUT)
  file(GLOB manifests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/backends/*/manifest.json)
  set(generated ${CMAKE_BINARY_DIR}/generated)
  set(sources "")
  set(declarations "")
  set(entries "")
  foreach(manifest IN LISTS manifests)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${manifest})
    get_filename_component(folder ${manifest} DIRECTORY)
    get_filename_component(name ${folder} NAME)
    file(GLOB_RECURSE found CONFIGURE_DEPENDS ${folder}/*.cc)
    list(FILTER found EXCLUDE REGEX "/tests/")
    list(APPEND sources ${found})
    string(APPEND declarations "namespace kiln::${name} { const kiln::registry::Builtin& backend(); }\n")
    string(APPEND entries "      &kiln::${name}::backend(),\n")

    # device/*: each snippet becomes a string constant kiln::<name>::device::<file name without extension>.
    file(GLOB snippets CONFIGURE_DEPENDS ${folder}/device/*)
    set(constants "")
    foreach(snippet IN LISTS snippets)
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${snippet})
      get_filename_component(stem ${snippet} NAME_WE)
      file(READ ${snippet} text)
      kiln_escape_raw(literal "${text}")
      string(APPEND constants "inline constexpr std::string_view ${stem} = ${literal};\n")
    endforeach()
    file(READ ${manifest} text)
    kiln_escape_raw(literal "${text}")
    file(CONFIGURE OUTPUT ${generated}/backends/${name}_device.h CONTENT
"#pragma once
#include <string_view>
namespace kiln::${name}::device {
@constants@inline constexpr const char* manifest_json = @literal@;
}  // namespace kiln::${name}::device
" @ONLY)
  endforeach()
  file(CONFIGURE OUTPUT ${generated}/builtin_backends.cc CONTENT
"#include \"registry/backend.h\"
@declarations@
namespace kiln::registry {
std::span<const Builtin* const> builtin_backends() {
  static const Builtin* const table[] = {
@entries@  };
  return table;
}
}  // namespace kiln::registry
" @ONLY)
  list(APPEND sources ${generated}/builtin_backends.cc)
  target_include_directories(kiln_options INTERFACE ${generated})
  set(${OUT} ${sources} PARENT_SCOPE)
endfunction()
