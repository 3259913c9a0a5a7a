# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# Options, all prefixed and positive. Nothing here touches a consumer's flags or standard.

# detgemm_tristate(NAME DEFAULT DOC [IF_ASKED]): AUTO builds it if what it needs is found, ON stops with a
# sentence if that is not found, and OFF does not look for it. IF_ASKED: it takes minutes to compile, so
# as part of another project the default is OFF.
function(detgemm_tristate name default doc)
  if("IF_ASKED" IN_LIST ARGN AND NOT PROJECT_IS_TOP_LEVEL)
    set(default OFF)
  endif()
  set(DETGEMM_ENABLE_${name} ${default} CACHE STRING "${doc} (AUTO, ON or OFF)")
  set_property(CACHE DETGEMM_ENABLE_${name} PROPERTY STRINGS AUTO ON OFF)
  string(TOUPPER "${DETGEMM_ENABLE_${name}}" value)
  if(value MATCHES "^([1-9][0-9]*|YES|TRUE|Y)$")
    set(value ON)
  elseif(value MATCHES "^(0|NO|FALSE|N|IGNORE|.*NOTFOUND|)$")
    set(value OFF)
  elseif(NOT value MATCHES "^(AUTO|ON|OFF)$")
    message(FATAL_ERROR
      "DETGEMM_ENABLE_${name} is \"${DETGEMM_ENABLE_${name}}\": it must be AUTO, ON or OFF.")
  endif()
  set(DETGEMM_ENABLE_${name} ${value} PARENT_SCOPE)
endfunction()

detgemm_tristate(KOKKOS AUTO "The bit-exact reference backend")
detgemm_tristate(CUDA AUTO "The CUDA backend" IF_ASKED)
detgemm_tristate(HIP AUTO "The HIP backend; AUTO builds it without kernels if there is no compiler for them"
  IF_ASKED)

detgemm_tristate(MPI AUTO "The transport of clusters over MPI" IF_ASKED)

option(DETGEMM_HIP_LINK_RUNTIME "Link an installed ROCm's libamdhip64, not one found at run time" OFF)
option(DETGEMM_HIP_FP32_MFMA "Let ieee_fma choose the fp32 matrix cores of gfx90a and gfx942, which no chip confirmed yet" OFF)
option(DETGEMM_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(DETGEMM_BUILD_BENCH "Build the benchmarks" ${PROJECT_IS_TOP_LEVEL})
option(DETGEMM_BUILD_EXAMPLES "Build the examples" ${PROJECT_IS_TOP_LEVEL})
option(DETGEMM_BUILD_CLI "Build the detgemm command" ${PROJECT_IS_TOP_LEVEL})
option(DETGEMM_INSTALL "Make install rules" ${PROJECT_IS_TOP_LEVEL})
option(DETGEMM_BUILD_DROPIN "Build the libraries that stand in for a vendor's BLAS (Linux)" OFF)
option(DETGEMM_BUILD_PYTHON "Build what the Python package contains, and install that alone" OFF)

# What scripts/setup.sh built serves `pip install .` too, to which no preset applies.
if(DETGEMM_BUILD_PYTHON AND NOT DEFINED Kokkos_ROOT AND EXISTS ${PROJECT_SOURCE_DIR}/.deps/kokkos)
  set(Kokkos_ROOT ${PROJECT_SOURCE_DIR}/.deps/kokkos)
endif()

if(DETGEMM_BUILD_TESTS)
  enable_testing()
endif()

get_property(detgemm_multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
if(PROJECT_IS_TOP_LEVEL AND NOT detgemm_multi_config AND NOT CMAKE_BUILD_TYPE)
  message(STATUS "detgemm: CMAKE_BUILD_TYPE was empty and is Release now")
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
elseif(NOT detgemm_multi_config AND NOT CMAKE_BUILD_TYPE)
  message(NOTICE "detgemm: CMAKE_BUILD_TYPE is empty, so detgemm too is compiled without optimisation; "
    "for speed, configure with -DCMAKE_BUILD_TYPE=Release.")
endif()
