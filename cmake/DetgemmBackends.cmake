# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# Sets DETGEMM_HAVE_KOKKOS, DETGEMM_HAVE_CUDA, DETGEMM_HAVE_HIP and DETGEMM_HAVE_MPI, and says what was
# found.

set(DETGEMM_HAVE_KOKKOS OFF)
set(detgemm_found "no (DETGEMM_ENABLE_KOKKOS=OFF)")
if(NOT DETGEMM_ENABLE_KOKKOS STREQUAL "OFF")
  include(DetgemmKokkos)
endif()
message(STATUS "detgemm reference: ${detgemm_found}")

set(DETGEMM_HAVE_CUDA OFF)
set(detgemm_found "no (DETGEMM_ENABLE_CUDA=OFF)")
if(NOT DETGEMM_ENABLE_CUDA STREQUAL "OFF")
  find_package(CUDAToolkit 12.8 QUIET)  # asks a stream for its device
  if(CUDAToolkit_FOUND AND CUDAToolkit_NVCC_EXECUTABLE)
    set(DETGEMM_HAVE_CUDA ON)
    set(detgemm_found "CUDA Toolkit ${CUDAToolkit_VERSION}; tensor-core kernels for compute capability 9.0, portable ones for 8.0 and above")
  elseif(DETGEMM_ENABLE_CUDA STREQUAL "ON")
    message(FATAL_ERROR "DETGEMM_ENABLE_CUDA is ON and no CUDA Toolkit (nvcc) of 12.8 or newer was "
      "found: install one, point CUDAToolkit_ROOT at it, or set DETGEMM_ENABLE_CUDA to OFF.")
  else()
    set(detgemm_found "no (no CUDA Toolkit >= 12.8 found)")
  endif()
endif()
message(STATUS "detgemm cuda: ${detgemm_found}")

set(DETGEMM_HAVE_HIP OFF)
set(detgemm_found "no (DETGEMM_ENABLE_HIP=${DETGEMM_ENABLE_HIP})")
if(NOT DETGEMM_ENABLE_HIP STREQUAL "OFF")
  # The backend is there even without kernels, and says why it cannot run.
  set(DETGEMM_HAVE_HIP ON)
  include(DetgemmHip)
endif()
message(STATUS "detgemm hip: ${detgemm_found}")

set(DETGEMM_HAVE_MPI OFF)
set(detgemm_found "no (DETGEMM_ENABLE_MPI=OFF)")
if(NOT DETGEMM_ENABLE_MPI STREQUAL "OFF")
  find_package(MPI QUIET COMPONENTS C GLOBAL)
  if(MPI_C_FOUND)
    set(DETGEMM_HAVE_MPI ON)
    set(detgemm_found "MPI ${MPI_C_VERSION}")
  elseif(DETGEMM_ENABLE_MPI STREQUAL "ON")
    message(FATAL_ERROR "DETGEMM_ENABLE_MPI is ON and no MPI was found: install one (Debian: "
      "libopenmpi-dev), point MPI_HOME at it, or set DETGEMM_ENABLE_MPI to OFF.")
  else()
    set(detgemm_found "no (no MPI found)")
  endif()
endif()
message(STATUS "detgemm mpi: ${detgemm_found}")
