# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# cmake -D TEXT=KERNELS.s -P check_modes.cmake: fails where a compiled kernel would start in another
# floating-point mode than the contract's (round to nearest even, subnormals kept, no clamping) or
# changes it. A mode changes bits without an error, and it is the compiler that writes it, so every
# build asks its own. Arguments must be in memory: those that a compiler preloads into registers are
# nothing that tests/gcn has executed.
cmake_policy(VERSION 3.25)
file(STRINGS "${TEXT}" lines REGEX
  "^[ \t]*(\\.amdgcn_target|\\.amdhsa_(kernel|float_|fp16_overflow|ieee_mode|dx10_clamp|user_sgpr_kernarg_preload_length)|s_setreg|s_round_mode|s_denorm_mode)")
# The newest chips have neither bit: they quiet signalling NaNs and clamp as IEEE and DX10 modes do.
set(always float_round_mode_32 float_round_mode_16_64 float_denorm_mode_32 float_denorm_mode_16_64
  fp16_overflow)
set(until_gfx11 ieee_mode dx10_clamp)
set(float_round_mode_32 0)
set(float_round_mode_16_64 0)
set(float_denorm_mode_32 3)
set(float_denorm_mode_16_64 3)
set(fp16_overflow 0)
set(ieee_mode 1)
set(dx10_clamp 1)
set(user_sgpr_kernarg_preload_length 0)

set(kernels 0)
set(seen "")
set(expected ${always} ${until_gfx11})
set(faults "")
set(kernel "before the first kernel")
macro(finish_kernel)
  if(kernels GREATER 0)
    foreach(name IN LISTS expected)
      if(NOT name IN_LIST seen)
        list(APPEND faults "${kernel} does not say .amdhsa_${name}")
      endif()
    endforeach()
  endif()
  set(seen "")
endmacro()
foreach(line IN LISTS lines)
  string(STRIP "${line}" line)
  if(line MATCHES "^\\.amdgcn_target.*gfx12")
    set(expected ${always})
  elseif(line MATCHES "^\\.amdhsa_kernel[ \t]+(.+)$")
    set(next ${CMAKE_MATCH_1})
    finish_kernel()
    set(kernel ${next})
    math(EXPR kernels "${kernels} + 1")
  elseif(line MATCHES "^\\.amdhsa_([a-z0-9_]+)[ \t]+([0-9]+)")
    set(name ${CMAKE_MATCH_1})
    set(value ${CMAKE_MATCH_2})
    list(APPEND seen ${name})
    if(DEFINED ${name} AND NOT value EQUAL ${name})
      list(APPEND faults "${kernel} has .amdhsa_${name} ${value}: it must be ${${name}}")
    endif()
  elseif(line MATCHES "^(s_setreg|s_round_mode|s_denorm_mode)")
    list(APPEND faults "a kernel after ${kernel} changes a mode: ${line}")
  endif()
endforeach()
finish_kernel()
if(kernels EQUAL 0)
  list(APPEND faults "it has no kernel")
endif()
if(faults)
  list(JOIN faults "\n  " faults)
  message(FATAL_ERROR "${TEXT} was compiled for another floating-point mode than the contract's, "
    "and its results would have other bits:\n  ${faults}\nName another compiler with DETGEMM_HIP_COMPILER.")
endif()
