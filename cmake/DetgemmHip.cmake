# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# Finds the compiler of the HIP kernels: any clang with AMD targets and lld, from version 19 on. An
# installed ROCm's is named by DETGEMM_HIP_COMPILER (for example /opt/rocm/llvm/bin/amdclang++). Sets
# DETGEMM_HIP_KERNELS and detgemm_found.

find_program(DETGEMM_HIP_COMPILER NAMES clang++-19 clang++-20 clang++-21 amdclang++ clang++
  DOC "Compiler of the HIP kernels: clang 19 or newer with lld")
mark_as_advanced(DETGEMM_HIP_COMPILER)

# One empty kernel to a code object and back: says in `why` what does not work.
function(detgemm_try_hip_compiler why)
  set(${why} "" PARENT_SCOPE)
  if(NOT DETGEMM_HIP_COMPILER)
    set(${why} "no clang was found" PARENT_SCOPE)
    return()
  endif()
  execute_process(COMMAND ${DETGEMM_HIP_COMPILER} --version
    OUTPUT_VARIABLE version ERROR_QUIET RESULT_VARIABLE failed)
  string(REGEX MATCH "clang version ([0-9]+)" version "${version}")
  if(failed OR CMAKE_MATCH_1 LESS 19)
    set(${why} "${DETGEMM_HIP_COMPILER} is not clang 19 or newer" PARENT_SCOPE)
    return()
  endif()
  set(work ${PROJECT_BINARY_DIR}/CMakeFiles/hip_compiler)
  file(WRITE ${work}/try.hip "extern \"C\" __attribute__((global)) void nothing() {}\n")
  execute_process(
    COMMAND ${DETGEMM_HIP_COMPILER} -x hip --offload-arch=gfx942 -nogpuinc -nogpulib
      --offload-device-only -S ${work}/try.hip -o ${work}/try.s
    RESULT_VARIABLE failed OUTPUT_QUIET ERROR_VARIABLE said)
  if(NOT failed)
    execute_process(
      COMMAND ${DETGEMM_HIP_COMPILER} --target=amdgcn-amd-amdhsa -mcpu=gfx942 -nostdlib
        ${work}/try.s -o ${work}/try.hsaco
      RESULT_VARIABLE failed OUTPUT_QUIET ERROR_VARIABLE said)
  endif()
  if(failed)
    string(REGEX REPLACE "\n.*" "" said "${said}")
    set(${why} "${DETGEMM_HIP_COMPILER} makes no gfx942 code object (${said}); lld is needed too"
      PARENT_SCOPE)
  endif()
endfunction()

detgemm_try_hip_compiler(detgemm_why)
if(detgemm_why STREQUAL "")
  set(DETGEMM_HIP_KERNELS ON)
  set(detgemm_found "kernels for gfx90a, gfx942 and gfx1100 by ${DETGEMM_HIP_COMPILER}; not run on \
AMD hardware")
elseif(DETGEMM_ENABLE_HIP STREQUAL "ON")
  message(FATAL_ERROR "DETGEMM_ENABLE_HIP is ON and ${detgemm_why}: install clang-19 and lld-19, or "
    "name another compiler with DETGEMM_HIP_COMPILER, or set DETGEMM_ENABLE_HIP to AUTO or OFF.")
else()
  set(DETGEMM_HIP_KERNELS OFF)
  set(detgemm_found "without kernels (${detgemm_why})")
endif()
