# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# A Kokkos that detgemm was not built with, as a package: a version and devices, and nothing to link.
set(Kokkos_VERSION 3.99.99)
set(Kokkos_DEVICES SERIAL)
set(Kokkos_DIR ${CMAKE_CURRENT_LIST_DIR})
if(NOT TARGET Kokkos::kokkos)
  add_library(Kokkos::kokkos INTERFACE IMPORTED)
endif()
