# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

include(GNUInstallDirs)
include(DetgemmFolders)

# Floating-point flags are part of the contract: no contraction, no fast-math, no flush to zero.
add_library(detgemm_flags INTERFACE)
target_compile_features(detgemm_flags INTERFACE cxx_std_20)
target_compile_options(detgemm_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off -Wall -Wextra>
  # GCC 12 warns of overlaps inside its own std::string (GCC bug 105651).
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict>)

# detgemm_compile_fast(SOURCES...): options, text and tables, of which the time to compile is what they
# cost; under sanitizers, where optimising and UBSan's checks take most of it, they are not what is tested.
function(detgemm_compile_fast)
  set(optimise $<$<CONFIG:Release>:-O1>)
  if(CMAKE_CXX_FLAGS MATCHES "-fsanitize")
    set(optimise -O0 -fno-sanitize=undefined)
  endif()
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "${optimise}")
endfunction()

# detgemm_compile_fast_of(TARGET SOURCES...): the same for sources of one target. CMake leaves sources with
# options of their own out of a unity build, so that their units, of at most six sources, are made here.
function(detgemm_compile_fast_of target)
  if(NOT CMAKE_UNITY_BUILD)
    detgemm_compile_fast(${ARGN})
    return()
  endif()
  set_source_files_properties(${ARGN} PROPERTIES HEADER_FILE_ONLY ON)
  list(LENGTH ARGN left)
  while(left GREATER 0)
    list(SUBLIST ARGN 0 6 sources)
    list(TRANSFORM sources REPLACE "(.+)" "#include \"${CMAKE_CURRENT_SOURCE_DIR}/\\1\"\n" OUTPUT_VARIABLE text)
    string(JOIN "" text ${text})
    set(unit ${CMAKE_CURRENT_BINARY_DIR}/${target}_fast_${left}.cpp)
    file(CONFIGURE OUTPUT ${unit} CONTENT "${text}" @ONLY)
    target_sources(${target} PRIVATE ${unit})
    detgemm_compile_fast(${unit})
    list(REMOVE_ITEM ARGN ${sources})
    list(LENGTH ARGN left)
  endwhile()
endfunction()

# detgemm_add_library(NAME SOURCES... ) makes target detgemm_NAME and alias detgemm::NAME with
# hidden symbols and the contract's flags.
function(detgemm_add_library name)
  set(target detgemm_${name})
  add_library(${target} ${ARGN})
  add_library(detgemm::${name} ALIAS ${target})
  target_include_directories(${target}
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/core/include>
      $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
    PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:detgemm_flags>)
  set_target_properties(${target} PROPERTIES
    EXPORT_NAME ${name}
    CXX_EXTENSIONS OFF
    C_VISIBILITY_PRESET hidden
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    POSITION_INDEPENDENT_CODE ON
    VERSION ${PROJECT_VERSION}
    SOVERSION ${DETGEMM_ABI_VERSION}
    DEFINE_SYMBOL "")
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "SHARED_LIBRARY" AND CMAKE_SYSTEM_NAME STREQUAL "Linux")
    # Instances of standard templates are visible by declaration; only a script keeps them in.
    set(script ${PROJECT_SOURCE_DIR}/cmake/detgemm.map)
    target_link_options(${target} PRIVATE -Wl,--version-script=${script})
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${script})
  endif()
endfunction()

# detgemm_compile_plain(NAME): little optimisation and no sanitizer. The engines of the harness are not
# what a sanitizer is for, and instrumented they take longer to compile than all that they test.
function(detgemm_compile_plain name)
  if(CMAKE_CXX_FLAGS MATCHES "-fsanitize")
    target_compile_options(detgemm_${name} PRIVATE -O0 -fno-sanitize=all)
  else()
    target_compile_options(detgemm_${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
endfunction()

# detgemm_add_backend(NAME WANTED): folder backends/NAME defines detgemm_NAME. Sets DETGEMM_HAS_NAME to
# 1 or 0, by which detgemm/config.hpp tells the registry, and users, what the build has.
function(detgemm_add_backend name wanted)
  string(TOUPPER ${name} upper)
  set(DETGEMM_HAS_${upper} 0 PARENT_SCOPE)
  if(NOT wanted)
    return()
  endif()
  detgemm_add_folder(backends/${name})
  if(TARGET detgemm_${name})
    set(DETGEMM_HAS_${upper} 1 PARENT_SCOPE)
    target_link_libraries(detgemm_detgemm PUBLIC detgemm_${name})
  endif()
endfunction()
