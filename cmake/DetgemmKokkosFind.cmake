# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# detgemm_find_kokkos(): finds an installed Kokkos >= 3.4 without its side effects; used by the
# build and by the installed package alike.
macro(detgemm_find_kokkos)
  if(NOT TARGET Kokkos::kokkos)
    if(NOT DEFINED CMAKE_CXX_EXTENSIONS)
      set(CMAKE_CXX_EXTENSIONS OFF)  # else Kokkos warns and sets it in the cache for everybody
      set(detgemm_unset_extensions ON)
    endif()
    # separable_compilation: a Kokkos with CUDA must not redirect the compiler of every target.
    find_package(Kokkos QUIET GLOBAL OPTIONAL_COMPONENTS separable_compilation)
    if(detgemm_unset_extensions)
      unset(CMAKE_CXX_EXTENSIONS)
      unset(detgemm_unset_extensions)
    endif()
    # Debian's Kokkos names an include directory that is not there; its headers are below it.
    if(TARGET trilinos_kokkoscore AND Kokkos_INCLUDE_DIRS)
      set_target_properties(Kokkos::kokkos PROPERTIES
        INTERFACE_INCLUDE_DIRECTORIES "${Kokkos_INCLUDE_DIRS}")
    endif()
    if(TARGET Kokkos::kokkos AND Kokkos_VERSION AND Kokkos_VERSION VERSION_LESS 3.4)
      message(FATAL_ERROR "Kokkos ${Kokkos_VERSION} in ${Kokkos_DIR} is too old: detgemm needs 3.4.")
    endif()
  endif()
endmacro()
