# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# Kokkos: an installed one of 3.4 or newer, otherwise (DETGEMM_ENABLE_KOKKOS=ON, or sources given by
# FETCHCONTENT_SOURCE_DIR_KOKKOS) the pinned release below, built static as part of this project.

include(DetgemmKokkosFind)

# Hash of kokkos-4.7.01.tar.gz as in the Spack recipe of Kokkos.
set(detgemm_kokkos_version 4.7.01)
set(detgemm_kokkos_url https://github.com/kokkos/kokkos/releases/download/4.7.01/kokkos-4.7.01.tar.gz)
set(detgemm_kokkos_sha256 404cf33e76159e83b8b4ad5d86f6899d442b5da4624820ab457412116cdcd201)

# In a function, so that no option of Kokkos reaches this project or the one above it.
function(detgemm_build_kokkos)
  find_package(OpenMP QUIET COMPONENTS CXX)
  set(CMAKE_CXX_STANDARD 20)
  set(CMAKE_CXX_EXTENSIONS OFF)
  set(Kokkos_ENABLE_SERIAL ON)
  set(Kokkos_ENABLE_OPENMP ${OpenMP_CXX_FOUND})
  set(Kokkos_ENABLE_TESTS OFF)
  set(Kokkos_ENABLE_EXAMPLES OFF)
  set(Kokkos_ENABLE_BENCHMARKS OFF)
  set(CMAKE_MESSAGE_LOG_LEVEL WARNING)
  detgemm_fetch(Kokkos ${detgemm_kokkos_url} ${detgemm_kokkos_sha256})
  if(BUILD_SHARED_LIBS OR NOT DETGEMM_INSTALL)
    return()
  endif()
  # A static detgemm needs Kokkos next to it, so that its install includes Kokkos's own.
  FetchContent_GetProperties(Kokkos)
  install(CODE "include(\"${kokkos_BINARY_DIR}/cmake_install.cmake\")")
endfunction()

if(NOT FETCHCONTENT_SOURCE_DIR_KOKKOS)
  detgemm_find_kokkos()
endif()
if(NOT TARGET Kokkos::kokkos)
  if(DETGEMM_ENABLE_KOKKOS STREQUAL "ON" OR FETCHCONTENT_SOURCE_DIR_KOKKOS)
    if(FETCHCONTENT_FULLY_DISCONNECTED AND NOT FETCHCONTENT_SOURCE_DIR_KOKKOS)
      message(FATAL_ERROR "DETGEMM_ENABLE_KOKKOS is ON, no Kokkos >= 3.4 was found, and "
        "FETCHCONTENT_FULLY_DISCONNECTED forbids its download: point CMAKE_PREFIX_PATH at an "
        "installed Kokkos or FETCHCONTENT_SOURCE_DIR_KOKKOS at its sources "
        "(Debian: libtrilinos-kokkos-dev).")
    endif()
    detgemm_build_kokkos()
    get_directory_property(Kokkos_VERSION DIRECTORY ${kokkos_SOURCE_DIR} DEFINITION Kokkos_VERSION)
    get_directory_property(Kokkos_DEVICES DIRECTORY ${kokkos_SOURCE_DIR} DEFINITION KOKKOS_ENABLED_DEVICES)
    set(Kokkos_DIR "built here")
  endif()
endif()

if(TARGET Kokkos::kokkos)
  set(DETGEMM_HAVE_KOKKOS ON)
  set(detgemm_found "Kokkos ${Kokkos_VERSION} (${Kokkos_DEVICES}) ${Kokkos_DIR}")
  if(Kokkos_DEVICES AND NOT Kokkos_DEVICES MATCHES "OPENMP|THREADS|HPX")
    string(APPEND detgemm_found "; this Kokkos has no parallel host space, so the reference computes on "
      "one thread: for all of them, point -DKokkos_ROOT=... at a Kokkos with OpenMP (scripts/kokkos.sh "
      "builds one)")
  endif()
else()
  set(detgemm_found "no (no Kokkos >= 3.4 found; -DDETGEMM_ENABLE_KOKKOS=ON downloads one)")
endif()

# Links Kokkos into TARGET alone: what a shared library links privately is no consumer's affair, and what
# a static one needs is part of its installation (DetgemmKokkosBundle), or found by its package.
function(detgemm_link_kokkos target)
  set(installed "")
  if(NOT BUILD_SHARED_LIBS)
    set(installed $<INSTALL_INTERFACE:$<IF:$<TARGET_EXISTS:detgemm::bundled_kokkos>,detgemm::bundled_kokkos,Kokkos::kokkos>>)
  endif()
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:Kokkos::kokkos> ${installed})
endfunction()

# A Kokkos with CUDA compiles and links what depends on it through its own nvcc wrapper. As a
# subproject this only touches our own folders.
if(Kokkos_ENABLE_CUDA AND COMMAND kokkos_compilation)
  if(PROJECT_IS_TOP_LEVEL)
    kokkos_compilation(GLOBAL)
  else()
    kokkos_compilation(PROJECT)
  endif()
endif()
