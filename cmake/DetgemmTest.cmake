# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# detgemm_add_test(NAME SOURCES a.cpp ... [LABELS l ...] [LIBS lib ...] [OWN_MAIN]) builds one GoogleTest
# executable and registers it as a whole; an executable in which no test ran fails.
function(detgemm_add_test name)
  cmake_parse_arguments(arg "OWN_MAIN" "TIMEOUT" "SOURCES;LABELS;LIBS" ${ARGN})
  add_executable(test_${name} ${arg_SOURCES})
  target_include_directories(test_${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(test_${name} PRIVATE detgemm_flags detgemm::core ${arg_LIBS} GTest::gtest)
  # A test is compiled once and run once: more optimisation costs more than it saves.
  target_compile_options(test_${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  if(NOT arg_OWN_MAIN)
    target_sources(test_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests/support/main.cpp)
  endif()
  add_test(NAME ${name} COMMAND test_${name})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT})
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
