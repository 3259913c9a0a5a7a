# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# A static detgemm is linked together with the very Kokkos that it was built with. That Kokkos is copied
# into the installation where it is static itself and computes on the host, so that a program needs
# nothing but the prefix, wherever it is moved. Any other Kokkos is named: the installed package looks
# for it where it was, and refuses a different one. Sets detgemm_kokkos_*, which
# detgemmConfig.cmake.in and DetgemmPkgConfig.cmake read.

set(detgemm_kokkos_archives "")  # files, for install(FILES)
set(detgemm_kokkos_names "")     # their names, in the order of linking
set(detgemm_kokkos_flags "")     # what they need besides
set(detgemm_kokkos_shared "")
set(detgemm_kokkos_dir "")       # where it is, if it is not copied
set(detgemm_kokkos_folder ${CMAKE_INSTALL_LIBDIR}/detgemm)
if(NOT TARGET detgemm_reference OR BUILD_SHARED_LIBS)
  return()
endif()

detgemm_link_interface(detgemm_words Kokkos::kokkos)
foreach(word IN LISTS detgemm_words)
  if(word MATCHES "^archive=\\$<TARGET_FILE:(.+)>$")
    list(APPEND detgemm_kokkos_archives "$<TARGET_FILE:${CMAKE_MATCH_1}>")
    get_target_property(name ${CMAKE_MATCH_1} OUTPUT_NAME)
    if(NOT name)
      set(name ${CMAKE_MATCH_1})
    endif()
    list(APPEND detgemm_kokkos_names "lib${name}.a")
  elseif(word MATCHES "^archive=(.+)$")
    list(APPEND detgemm_kokkos_archives "${CMAKE_MATCH_1}")
    get_filename_component(name "${CMAKE_MATCH_1}" NAME)
    list(APPEND detgemm_kokkos_names "${name}")
  elseif(word MATCHES "^shared=(.+)$")
    list(APPEND detgemm_kokkos_shared "${CMAKE_MATCH_1}")
  else()
    list(APPEND detgemm_kokkos_flags "${word}")
  endif()
endforeach()
set(detgemm_kokkos_bundled TRUE)
if(detgemm_kokkos_shared OR NOT detgemm_kokkos_archives
    OR Kokkos_DEVICES MATCHES "CUDA|HIP|SYCL|OPENMPTARGET|OPENACC|HPX")
  set(detgemm_kokkos_bundled FALSE)
  set(detgemm_kokkos_dir "${Kokkos_DIR}")
else()
  install(FILES ${detgemm_kokkos_archives} DESTINATION ${detgemm_kokkos_folder})
  find_file(detgemm_kokkos_licence NAMES LICENSE Copyright.txt NO_CACHE NO_DEFAULT_PATH
    HINTS ${Kokkos_DIR}/../../../share/doc/kokkos ${kokkos_SOURCE_DIR})
  if(detgemm_kokkos_licence)
    install(FILES ${detgemm_kokkos_licence} DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME LICENSE.kokkos)
  endif()
endif()
