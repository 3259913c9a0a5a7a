# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# The CUDA language and the flags of all device code; included where a toolkit was found.

# The kernels are written for one machine. The architecture is given to nvcc as it stands and the
# variable set only here, so that a project around this one keeps its own.
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
  -gencode=arch=compute_90a,code=sm_90a
  -fmad=false -ftz=false -prec-div=true -prec-sqrt=true
  --expt-relaxed-constexpr -Xcompiler=-ffp-contract=off,-Wall,-Wextra>)

# detgemm_cuda_target(TARGET): gives a target with CUDA sources those flags and the static runtime.
# A driver is found at run time, so that what is built here loads where there is none.
function(detgemm_cuda_target target)
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:detgemm_cuda_flags>)
  set_target_properties(${target} PROPERTIES
    CUDA_ARCHITECTURES OFF
    CUDA_RUNTIME_LIBRARY Static
    CUDA_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    POSITION_INDEPENDENT_CODE ON)
endfunction()
