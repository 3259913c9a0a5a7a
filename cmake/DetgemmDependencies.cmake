# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

include(FetchContent)

# Downloads NAME when `find_package` did not find it; a later find_package(NAME) then finds this
# copy. FETCHCONTENT_SOURCE_DIR_<NAME> points at sources already there; with
# FETCHCONTENT_FULLY_DISCONNECTED nothing is downloaded. Install rules of NAME are left out.
function(detgemm_fetch name url sha256)
  message(STATUS "${name}: not found here, taking ${url}")
  FetchContent_Declare(${name} URL ${url} URL_HASH SHA256=${sha256}
    DOWNLOAD_EXTRACT_TIMESTAMP OFF OVERRIDE_FIND_PACKAGE
    SOURCE_SUBDIR detgemm-populates-only)
  FetchContent_MakeAvailable(${name})
  string(TOLOWER ${name} lower)
  set(BUILD_SHARED_LIBS OFF)
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)
  set(CMAKE_POLICY_DEFAULT_CMP0077 NEW)
  add_subdirectory(${${lower}_SOURCE_DIR} ${${lower}_BINARY_DIR} EXCLUDE_FROM_ALL)
endfunction()

# detgemm_need(NAME VERSION TARGET PURPOSE DEBIAN URL SHA256)
function(detgemm_need name version target purpose debian url sha256)
  if(TARGET ${target})
    return()
  endif()
  find_package(${name} ${version} CONFIG QUIET GLOBAL)
  if(NOT TARGET ${target} AND NOT FETCHCONTENT_FULLY_DISCONNECTED)
    detgemm_fetch(${name} ${url} ${sha256})
  endif()
  if(NOT TARGET ${target})
    message(FATAL_ERROR "${purpose} needs ${name} ${version} or newer, and none was found: install "
      "it (Debian: ${debian}), point CMAKE_PREFIX_PATH at it, or allow its download.")
  endif()
endfunction()

# Hashes of the release archives as published in the Spack recipe of the same package
# (googletest, nlohmann_json) and in the Conan Center recipe (cli11).
if(DETGEMM_BUILD_TESTS)
  set(INSTALL_GTEST OFF)
  detgemm_need(GTest 1.11 GTest::gtest DETGEMM_BUILD_TESTS libgtest-dev
    https://github.com/google/googletest/archive/refs/tags/release-1.12.1.tar.gz
    81964fe578e9bd7c94dfdb09c8e4d6e6759e19967e397dbea48d1c10e45d0df2)
endif()
if(DETGEMM_BUILD_CLI OR DETGEMM_BUILD_TESTS)
  set(CLI11_BUILD_TESTS OFF)
  set(CLI11_BUILD_EXAMPLES OFF)
  set(CLI11_BUILD_DOCS OFF)
  detgemm_need(CLI11 2.1 CLI11::CLI11 DETGEMM_BUILD_CLI libcli11-dev
    https://github.com/CLIUtils/CLI11/archive/v2.1.2.tar.gz
    26291377e892ba0e5b4972cdfd4a2ab3bf53af8dac1f4ea8fe0d1376b625c8cb)
endif()
if(DETGEMM_BUILD_CLI OR DETGEMM_BUILD_TESTS OR DETGEMM_BUILD_BENCH)
  set(JSON_BuildTests OFF)
  detgemm_need(nlohmann_json 3.10 nlohmann_json::nlohmann_json DETGEMM_BUILD_CLI
    nlohmann-json3-dev
    https://github.com/nlohmann/json/archive/refs/tags/v3.11.2.tar.gz
    d69f9deb6a75e2580465c6c4c5111b89c4dc2fa94e3a85fcd2ffcd9a143d9273)
endif()
