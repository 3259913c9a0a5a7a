# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# Floating-point flags are part of the contract: a toolchain that forces others on these sources
# is refused here rather than found out by wrong bits.

include(CheckCXXSourceCompiles)

set(detgemm_forbidden_flags
  -Ofast -ffast-math -funsafe-math-optimizations -fassociative-math -freciprocal-math
  -ffinite-math-only -mdaz-ftz -fp-model=fast -ffp-model=fast -ffp-model=aggressive)

function(detgemm_refuse_flags where flags)
  separate_arguments(words UNIX_COMMAND "${flags}")
  foreach(flag IN LISTS detgemm_forbidden_flags)
    if(flag IN_LIST words)
      message(FATAL_ERROR "${where} holds ${flag}: detgemm's results are defined bit by bit under "
        "IEEE arithmetic, so none of its sources may be compiled with it. Remove the flag, or set "
        "it only on your own targets.")
    endif()
  endforeach()
endfunction()

detgemm_refuse_flags(CMAKE_CXX_FLAGS "${CMAKE_CXX_FLAGS}")
foreach(config IN ITEMS ${CMAKE_BUILD_TYPE} ${CMAKE_CONFIGURATION_TYPES})
  string(TOUPPER ${config} config)
  detgemm_refuse_flags(CMAKE_CXX_FLAGS_${config} "${CMAKE_CXX_FLAGS_${config}}")
endforeach()
get_directory_property(detgemm_directory_options COMPILE_OPTIONS)
list(JOIN detgemm_directory_options " " detgemm_directory_options)
detgemm_refuse_flags("The directory's COMPILE_OPTIONS" "${detgemm_directory_options}")

# What a list of flags cannot know: compilers that relax arithmetic by default.
set(CMAKE_REQUIRED_FLAGS "${detgemm_directory_options}")
check_cxx_source_compiles("
#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error fast math
#endif
int main() { return 0; }" DETGEMM_PLAIN_IEEE)
unset(CMAKE_REQUIRED_FLAGS)
if(NOT DETGEMM_PLAIN_IEEE)
  unset(DETGEMM_PLAIN_IEEE CACHE)
  message(FATAL_ERROR "${CMAKE_CXX_COMPILER} defines __FAST_MATH__ or __FINITE_MATH_ONLY__ here: "
    "detgemm's results are defined under IEEE arithmetic. Ask it for precise floating point.")
endif()
