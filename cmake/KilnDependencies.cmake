# Third-party libraries, all installed by ./dev (see docs/dependencies.md).
find_package(fmt REQUIRED)
find_package(CLI11 REQUIRED)
find_package(ZLIB REQUIRED)
find_path(RAPIDJSON_INCLUDE rapidjson/reader.h REQUIRED)
find_path(XXHASH_INCLUDE xxhash.h REQUIRED)  # header-only
find_path(ZSTD_INCLUDE zstd.h REQUIRED)
find_library(ZSTD_LIBRARY zstd REQUIRED)

# tvm-ffi comes from its PyPI wheel in the project's .venv.
if(NOT tvm_ffi_DIR)
  if(NOT Python_EXECUTABLE AND EXISTS ${CMAKE_SOURCE_DIR}/.venv/bin/python)
    set(Python_EXECUTABLE ${CMAKE_SOURCE_DIR}/.venv/bin/python)
  endif()
  find_package(Python REQUIRED COMPONENTS Interpreter)
  execute_process(COMMAND ${Python_EXECUTABLE} -m tvm_ffi.config --cmakedir OUTPUT_VARIABLE tvm_ffi_DIR OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE status ERROR_QUIET)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "the Python package apache-tvm-ffi is not importable by ${Python_EXECUTABLE}: run ./dev build, or pip install apache-tvm-ffi and pass -DPython_EXECUTABLE=...")
  endif()
endif()
find_package(tvm_ffi CONFIG REQUIRED)

set(KILN_LIBRARIES fmt::fmt CLI11::CLI11 ZLIB::ZLIB ${ZSTD_LIBRARY} ${CMAKE_DL_LIBS})
