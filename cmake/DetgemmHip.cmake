# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# Finds the compilers of the HIP kernels: any clang with AMD targets and lld that compiles them.
# clang 19 is the one whose text the tests execute; another one is taken, and its kernels say so. An
# installed ROCm's is named by DETGEMM_HIP_COMPILER (for example /opt/rocm/llvm/bin/amdclang++). Chips
# that this compiler does not know are compiled by DETGEMM_HIP_NEWER_COMPILER, or left out.
#
# Sets DETGEMM_HIP_KERNELS, detgemm_found, detgemm_hip_chips, detgemm_hip_compiler_CHIP,
# detgemm_hip_lists_headers_CHIP and, as text for the library, detgemm_hip_compiled_by_CHIP and
# detgemm_hip_left_out.

find_program(DETGEMM_HIP_COMPILER
  NAMES clang++-19 amdclang++ clang++-20 clang++-21 clang++-22 clang++-18 clang++-17 clang++
  HINTS $ENV{ROCM_PATH}/llvm/bin $ENV{ROCM_PATH}/bin /opt/rocm/llvm/bin
  DOC "Compiler of the HIP kernels: a clang with lld; the tests execute the text of clang 19")
find_program(DETGEMM_HIP_NEWER_COMPILER
  NAMES clang++-22 clang++-21 clang++-20 amdclang++
  HINTS $ENV{ROCM_PATH}/llvm/bin $ENV{ROCM_PATH}/bin /opt/rocm/llvm/bin
  DOC "Compiler of the HIP kernels for chips that DETGEMM_HIP_COMPILER does not know")
mark_as_advanced(DETGEMM_HIP_COMPILER DETGEMM_HIP_NEWER_COMPILER)

# The version whose text tests/gcn executes: its tests are not evidence for another one's.
set(detgemm_hip_tested_clang 19)
set(detgemm_hip_all_chips gfx90a gfx942 gfx950 gfx1100 gfx1101 gfx1102 gfx1200 gfx1201)

# `out`: "clang 19.1.7", or empty where the program is none.
function(detgemm_clang_version compiler out)
  set(${out} "" PARENT_SCOPE)
  if(NOT compiler)
    return()
  endif()
  execute_process(COMMAND ${compiler} --version
    OUTPUT_VARIABLE said ERROR_QUIET RESULT_VARIABLE failed)
  if(NOT failed AND said MATCHES "(AMD )?clang version ([0-9]+[0-9.]*)")
    set(${out} "${CMAKE_MATCH_1}clang ${CMAKE_MATCH_2}" PARENT_SCOPE)
  endif()
endfunction()

# One kernel of C++20 to a code object: says in `why` what does not work. Sets `lists` to whether the
# compiler lists the headers that a kernel includes when it is asked as usual; clang 22 does not.
function(detgemm_try_hip_compiler compiler chip why lists)
  set(${why} "" PARENT_SCOPE)
  set(work ${PROJECT_BINARY_DIR}/CMakeFiles/hip_compiler)
  file(WRITE ${work}/try.hip "#include <cstdint>\ntemplate <class T> requires(sizeof(T) == 4) \
__attribute__((device)) void put(T* to) { *to = __builtin_amdgcn_workitem_id_x(); }\n\
extern \"C\" __attribute__((global)) void kernel(std::uint32_t* to) { put(to); }\n")
  file(REMOVE ${work}/try.d)
  execute_process(
    COMMAND ${compiler} -x hip -std=c++20 --offload-arch=${chip} -nogpuinc -nogpulib
      --offload-device-only -mcode-object-version=4 -O3 -MD -MF ${work}/try.d
      -S ${work}/try.hip -o ${work}/try.s
    RESULT_VARIABLE failed OUTPUT_QUIET ERROR_VARIABLE said)
  if(NOT failed)
    execute_process(
      COMMAND ${compiler} --target=amdgcn-amd-amdhsa -mcpu=${chip} -nostdlib
        ${work}/try.s -o ${work}/try.hsaco
      RESULT_VARIABLE failed OUTPUT_QUIET ERROR_VARIABLE said)
    set(hint "; lld is needed too")
  endif()
  set(${lists} OFF PARENT_SCOPE)
  if(EXISTS ${work}/try.d)
    set(${lists} ON PARENT_SCOPE)
  endif()
  if(failed)
    string(REGEX REPLACE "\n.*" "" said "${said}")
    set(${why} "${compiler} makes no ${chip} code object (${said})${hint}" PARENT_SCOPE)
  endif()
endfunction()

# The chips with the compiler of each, and what to say of them.
function(detgemm_find_hip_compilers)
  detgemm_clang_version("${DETGEMM_HIP_COMPILER}" version)
  detgemm_clang_version("${DETGEMM_HIP_NEWER_COMPILER}" newer_version)
  set(chips "")
  set(by "")
  set(left_out "")
  set(why "no clang was found")
  if(version STREQUAL "" AND DETGEMM_HIP_COMPILER)
    set(why "${DETGEMM_HIP_COMPILER} is no clang")
  endif()
  if(NOT version STREQUAL "")
    foreach(chip IN LISTS detgemm_hip_all_chips)
      set(compiler ${DETGEMM_HIP_COMPILER})
      set(compiled_by ${version})
      detgemm_try_hip_compiler(${compiler} ${chip} failed lists)
      if(NOT failed STREQUAL "" AND NOT newer_version STREQUAL "" AND chips)
        set(compiler ${DETGEMM_HIP_NEWER_COMPILER})
        set(compiled_by ${newer_version})
        detgemm_try_hip_compiler(${compiler} ${chip} failed lists)
      endif()
      if(NOT failed STREQUAL "")
        if(NOT left_out)
          set(why ${failed})
        endif()
        list(APPEND left_out ${chip})
        continue()
      endif()
      list(APPEND chips ${chip})
      string(APPEND by "${compiled_by};")
      set(detgemm_hip_compiler_${chip} ${compiler} PARENT_SCOPE)
      set(detgemm_hip_compiled_by_${chip} ${compiled_by} PARENT_SCOPE)
      set(detgemm_hip_lists_headers_${chip} ${lists} PARENT_SCOPE)
    endforeach()
  endif()
  list(REMOVE_DUPLICATES by)
  list(REMOVE_ITEM by "")
  set(detgemm_hip_chips "${chips}" PARENT_SCOPE)
  list(JOIN by " and " by)
  set(detgemm_hip_compiled_by "${by}" PARENT_SCOPE)
  list(JOIN left_out ", " left_out)
  set(detgemm_hip_left_out "${left_out}" PARENT_SCOPE)
  set(detgemm_why "${why}" PARENT_SCOPE)
endfunction()

detgemm_find_hip_compilers()
if(detgemm_hip_chips)
  set(DETGEMM_HIP_KERNELS ON)
  list(JOIN detgemm_hip_chips ", " detgemm_list)
  set(detgemm_found "kernels for ${detgemm_list} by ${detgemm_hip_compiled_by}; not run on AMD hardware")
  if(detgemm_hip_left_out)
    string(APPEND detgemm_found "; left out: ${detgemm_hip_left_out}, which no compiler found here makes \
(gfx950 needs clang 20, gfx1200 and gfx1201 clang 18, gfx942 clang 17)")
  endif()
  foreach(chip IN ITEMS gfx90a gfx942)
    if(chip IN_LIST detgemm_hip_chips AND
        NOT detgemm_hip_compiled_by_${chip} MATCHES "^clang ${detgemm_hip_tested_clang}[.]")
      string(APPEND detgemm_found "; the results of tests/gcn were obtained with clang \
${detgemm_hip_tested_clang} and do not carry over to the ${chip} code of ${detgemm_hip_compiled_by_${chip}}")
    endif()
  endforeach()
elseif(DETGEMM_ENABLE_HIP STREQUAL "ON")
  message(FATAL_ERROR "DETGEMM_ENABLE_HIP is ON and ${detgemm_why}: install clang-19 and lld-19, or "
    "name another compiler with DETGEMM_HIP_COMPILER (with ROCm: /opt/rocm/llvm/bin/amdclang++), or set "
    "DETGEMM_ENABLE_HIP to AUTO or OFF.")
else()
  set(DETGEMM_HIP_KERNELS OFF)
  set(detgemm_found "without kernels (${detgemm_why})")
endif()
