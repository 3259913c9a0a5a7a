# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# The CUDA language and the flags of all device code; included where a toolkit was found.

# The tensor-core kernels are written for one machine, the portable ones for any of compute capability
# 8.0 and above. Architectures are given to nvcc as they stand and the variable set only here, so that
# a project around this one keeps its own.
set(DETGEMM_CUDA_PORTABLE_ARCHITECTURES "80;86;89;90;100;120" CACHE STRING
  "Compute capabilities with machine code for the portable CUDA kernels; others compile PTX of the first")
set(DETGEMM_CUDA_KERNELS all CACHE STRING
  "all, or sample: a build that tests how kernels compile, and computes nothing on a GPU")
set_property(CACHE DETGEMM_CUDA_KERNELS PROPERTY STRINGS all sample)
if(NOT DETGEMM_CUDA_KERNELS MATCHES "^(all|sample)$")
  message(FATAL_ERROR "DETGEMM_CUDA_KERNELS is \"${DETGEMM_CUDA_KERNELS}\": it must be all or sample")
endif()
option(DETGEMM_CUDA_FP8 "Compile the kernels of hopper/e4m3 into component cuda" ON)
if(NOT CMAKE_CUDA_COMPILER)
  set(CMAKE_CUDA_COMPILER ${CUDAToolkit_NVCC_EXECUTABLE})
endif()
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES OFF)
endif()
enable_language(CUDA)
detgemm_refuse_flags(CMAKE_CUDA_FLAGS "${CMAKE_CUDA_FLAGS}")

# -std as it stands: CMake 3.25 does not know the standards of every later nvcc.
# Floating point as on the host: no contraction, no flush to zero, correctly rounded division.
add_library(detgemm_cuda_flags INTERFACE)
target_compile_options(detgemm_cuda_flags INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:
  -std=c++20
  -Xfatbin=-compress-all -fmad=false -ftz=false -prec-div=true -prec-sqrt=true
  --expt-relaxed-constexpr -Xcompiler=-ffp-contract=off,-Wall,-Wextra>)

add_library(detgemm_cuda_sm90_flags INTERFACE)
target_compile_options(detgemm_cuda_sm90_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CUDA>:-gencode=arch=compute_90a,code=sm_90a>)

# Devices that have no machine code of their own compile the first one's PTX when it is loaded.
add_library(detgemm_cuda_portable_flags INTERFACE)
list(GET DETGEMM_CUDA_PORTABLE_ARCHITECTURES 0 detgemm_first)
foreach(arch IN LISTS DETGEMM_CUDA_PORTABLE_ARCHITECTURES)
  if(NOT arch MATCHES "^[0-9]+$" OR arch LESS 80)
    message(FATAL_ERROR "DETGEMM_CUDA_PORTABLE_ARCHITECTURES has \"${arch}\": it must list compute "
      "capabilities of 80 and above, such as 80;90")
  endif()
  set(code "sm_${arch}")
  if(arch EQUAL detgemm_first)
    set(code "[compute_${arch},sm_${arch}]")
  endif()
  target_compile_options(detgemm_cuda_portable_flags INTERFACE
    $<$<COMPILE_LANGUAGE:CUDA>:-gencode=arch=compute_${arch},code=${code}>)
endforeach()

# Portable kernels of which there are many: machine code where they were measured, PTX elsewhere.
add_library(detgemm_cuda_ptx_flags INTERFACE)
target_compile_options(detgemm_cuda_ptx_flags INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:
  -gencode=arch=compute_${detgemm_first},code=compute_${detgemm_first}
  -gencode=arch=compute_90,code=sm_90>)

# detgemm_cuda_target(TARGET [PORTABLE | PTX]): gives a target with CUDA sources those flags and the static
# runtime. The driver is looked for at run time, so that what is built here loads without one.
function(detgemm_cuda_target target)
  set(machine detgemm_cuda_sm90_flags)
  if("PORTABLE" IN_LIST ARGN)
    set(machine detgemm_cuda_portable_flags)
  elseif("PTX" IN_LIST ARGN)
    set(machine detgemm_cuda_ptx_flags)
  endif()
  target_link_libraries(${target} PRIVATE
    $<BUILD_INTERFACE:detgemm_cuda_flags> $<BUILD_INTERFACE:${machine}>)
  set_target_properties(${target} PROPERTIES
    CUDA_ARCHITECTURES OFF
    CUDA_RUNTIME_LIBRARY Static
    CUDA_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    POSITION_INDEPENDENT_CODE ON)
endfunction()
