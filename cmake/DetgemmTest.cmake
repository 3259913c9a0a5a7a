# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

option(DETGEMM_PRECOMPILE_TESTS "Read GoogleTest's headers once, not once for every source of a test" OFF)

# detgemm_compile_once(TARGET): a test's source is compiled once and run once, so that more optimisation
# costs more than it saves, and under sanitizers any.
function(detgemm_compile_once target)
  if(CMAKE_CXX_FLAGS MATCHES "-fsanitize")
    target_compile_options(${target} PRIVATE -O0)
  else()
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
endfunction()

# detgemm_add_test(NAME SOURCES a.cpp ... [LABELS l ...] [LIBS lib ...] [OWN_MAIN]) builds one GoogleTest
# executable and registers it as a whole; an executable in which no test ran fails.
function(detgemm_add_test name)
  cmake_parse_arguments(arg "OWN_MAIN" "TIMEOUT" "SOURCES;LABELS;LIBS" ${ARGN})
  add_executable(test_${name} ${arg_SOURCES})
  target_include_directories(test_${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(test_${name} PRIVATE detgemm_flags detgemm::core ${arg_LIBS} GTest::gtest)
  detgemm_compile_once(test_${name})
  detgemm_precompile(test_${name})
  if(NOT arg_OWN_MAIN)
    target_sources(test_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests/support/main.cpp)
  endif()
  add_test(NAME ${name} COMMAND test_${name})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT})
endfunction()

# detgemm_precompile(TARGET): with GoogleTest's headers as one target has compiled them for all.
function(detgemm_precompile target)
  if(NOT DETGEMM_PRECOMPILE_TESTS)
    return()
  endif()
  if(NOT TARGET detgemm_test_headers)
    set(source ${PROJECT_BINARY_DIR}/test_headers.cpp)
    file(CONFIGURE OUTPUT ${source} CONTENT "#include <gtest/gtest.h>\n")
    add_library(detgemm_test_headers OBJECT ${source})
    target_link_libraries(detgemm_test_headers PRIVATE detgemm_flags detgemm::core GTest::gtest)
    detgemm_compile_once(detgemm_test_headers)
    target_precompile_headers(detgemm_test_headers PRIVATE <gtest/gtest.h>)
  endif()
  target_precompile_headers(${target} REUSE_FROM detgemm_test_headers)
endfunction()

# detgemm_quick_tests(): the tests of this folder belong to `scripts/test.sh --quick`, which runs those with the
# label quick after building the target tests_quick.
function(detgemm_quick_tests)
  get_property(tests DIRECTORY PROPERTY TESTS)
  foreach(test IN LISTS tests)
    set_property(TEST ${test} APPEND PROPERTY LABELS quick)
  endforeach()
  detgemm_targets_below(${CMAKE_CURRENT_SOURCE_DIR} targets)
  if(NOT TARGET tests_quick)
    add_custom_target(tests_quick)
  endif()
  if(targets)
    add_dependencies(tests_quick ${targets})
  endif()
endfunction()

# Targets of a folder and of those below it.
function(detgemm_targets_below directory out)
  get_property(all DIRECTORY ${directory} PROPERTY BUILDSYSTEM_TARGETS)
  get_property(below DIRECTORY ${directory} PROPERTY SUBDIRECTORIES)
  foreach(each IN LISTS below)
    detgemm_targets_below(${each} more)
    list(APPEND all ${more})
  endforeach()
  set(${out} ${all} PARENT_SCOPE)
endfunction()

# detgemm_add_test_folder(FOLDER): the tests of one folder. Target tests_NAME builds what they need, and
# no more.
function(detgemm_add_test_folder folder)
  detgemm_add_folder(${folder})
  detgemm_targets_below(${PROJECT_SOURCE_DIR}/${folder} targets)
  string(REPLACE "/" "_" name ${folder})
  add_custom_target(${name})
  if(targets)
    add_dependencies(${name} ${targets})
  endif()
endfunction()
