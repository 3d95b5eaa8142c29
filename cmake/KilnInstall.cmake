# What `cmake --install` writes: the library, the command, headers, the SDK, and the CMake package `kiln` for those who build on them.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# The library finds tvm-ffi where its wheel lies when both are Python packages, else where it was at build time.
get_target_property(tvm_ffi_library tvm_ffi::shared IMPORTED_LOCATION)
get_filename_component(tvm_ffi_folder ${tvm_ffi_library} DIRECTORY)
get_filename_component(KILN_TVM_FFI ${tvm_ffi_folder} DIRECTORY)
set(tvm_ffi_beside "$ORIGIN/../../tvm_ffi/lib")
if(SKBUILD)
  set(tvm_ffi_folder "")
  set(KILN_TVM_FFI "")
endif()
set_target_properties(kiln PROPERTIES INSTALL_RPATH "${tvm_ffi_beside};${tvm_ffi_folder}")
set_target_properties(kiln_cli PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR};${tvm_ffi_beside};${tvm_ffi_folder}")
set_target_properties(kiln_sdk PROPERTIES EXPORT_NAME sdk)

install(TARGETS kiln kiln_sdk EXPORT kiln LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS kiln_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY include/kiln DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY src/base src/ir src/target src/legalise src/emit src/intrinsics src/check src/host_c src/runtime src/cache DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/kiln/sdk
  FILES_MATCHING PATTERN "*.h" PATTERN "ops.def")

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/kiln)
configure_package_config_file(cmake/kiln-config.cmake.in ${CMAKE_BINARY_DIR}/kiln-config.cmake INSTALL_DESTINATION ${package}
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/kiln-config-version.cmake COMPATIBILITY SameMinorVersion)
install(EXPORT kiln NAMESPACE kiln:: FILE kiln-targets.cmake DESTINATION ${package})
install(FILES ${CMAKE_BINARY_DIR}/kiln-config.cmake ${CMAKE_BINARY_DIR}/kiln-config-version.cmake DESTINATION ${package})
