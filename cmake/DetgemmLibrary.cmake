# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# Floating-point flags are part of the contract: no contraction, no fast-math, no flush to zero.
add_library(detgemm_flags INTERFACE)
target_compile_features(detgemm_flags INTERFACE cxx_std_20)
target_compile_options(detgemm_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off -Wall -Wextra>)

# detgemm_add_library(NAME SOURCES... ) makes target detgemm_NAME and alias detgemm::NAME with
# hidden symbols and the contract's flags.
function(detgemm_add_library name)
  set(target detgemm_${name})
  add_library(${target} ${ARGN})
  add_library(detgemm::${name} ALIAS ${target})
  target_include_directories(${target}
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/core/include> $<INSTALL_INTERFACE:include>
    PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:detgemm_flags>)
  set_target_properties(${target} PROPERTIES
    EXPORT_NAME ${name}
    CXX_EXTENSIONS OFF
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    POSITION_INDEPENDENT_CODE ON
    VERSION ${PROJECT_VERSION}
    SOVERSION ${DETGEMM_ABI_VERSION})
endfunction()
