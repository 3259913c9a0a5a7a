# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# detgemm.pc: the prefix is taken from where the file lies, so that a tree can be moved. A static
# library's own needs stand in Libs, since there is no shared one that could carry them.

# Follows the link interface of an external target down to flags.
function(detgemm_link_flags out item)
  set(flags "")
  if(item MATCHES "^\\$<LINK_ONLY:(.+)>$")
    set(item "${CMAKE_MATCH_1}")
  endif()
  if(TARGET "${item}")
    get_target_property(type ${item} TYPE)
    get_target_property(imported ${item} IMPORTED)
    if(NOT type STREQUAL "INTERFACE_LIBRARY")
      if(imported)
        list(APPEND flags $<TARGET_FILE:${item}>)
      else()
        list(APPEND flags -L\${libdir} -l$<TARGET_FILE_BASE_NAME:${item}>)
      endif()
    endif()
    foreach(property IN ITEMS INTERFACE_LINK_OPTIONS INTERFACE_LINK_LIBRARIES)
      get_target_property(below ${item} ${property})
      if(below)
        foreach(next IN LISTS below)
          detgemm_link_flags(more "${next}")
          list(APPEND flags ${more})
        endforeach()
      endif()
    endforeach()
  elseif(item MATCHES "^-[DI]" OR item MATCHES "\\$<" OR item STREQUAL "")
    # not a matter of linking, or a condition that only a build system can evaluate
  elseif(item MATCHES "^/")
    get_filename_component(directory "${item}" DIRECTORY)
    get_filename_component(name "${item}" NAME_WE)
    if(directory IN_LIST CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES)
      string(REGEX REPLACE "^lib" "-l" item "${name}")
    endif()
    list(APPEND flags "${item}")
  elseif(item MATCHES "^-")
    string(REGEX REPLACE ">+$" "" item "${item}")  # the tail of a condition split at its ";"
    list(APPEND flags "${item}")
  else()
    list(APPEND flags "-l${item}")
  endif()
  set(${out} "${flags}" PARENT_SCOPE)
endfunction()

set(detgemm_pc_libs "-ldetgemm")
foreach(component IN LISTS detgemm_components)
  list(INSERT detgemm_pc_libs 1 -ldetgemm_${component})  # core, the first one, comes out last
endforeach()
if(NOT BUILD_SHARED_LIBS)
  if(TARGET detgemm_reference)
    detgemm_link_flags(detgemm_kokkos_flags Kokkos::kokkos)
    list(REMOVE_DUPLICATES detgemm_kokkos_flags)
    list(APPEND detgemm_pc_libs ${detgemm_kokkos_flags})
  endif()
  list(APPEND detgemm_pc_libs -lstdc++ -lm)
endif()
list(JOIN detgemm_pc_libs " " detgemm_pc_libs)

file(RELATIVE_PATH detgemm_pc_up ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" detgemm_pc_up "${detgemm_pc_up}")
configure_file(${PROJECT_SOURCE_DIR}/cmake/detgemm.pc.in ${PROJECT_BINARY_DIR}/detgemm.pc.in @ONLY)
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/detgemm-$<CONFIG>.pc
  INPUT ${PROJECT_BINARY_DIR}/detgemm.pc.in)
install(FILES ${PROJECT_BINARY_DIR}/detgemm-$<CONFIG>.pc RENAME detgemm.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
