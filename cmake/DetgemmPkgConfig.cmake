# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# detgemm.pc: the prefix is taken from where the file lies, so that a tree can be moved. A static
# library's own needs stand in Libs, since there is no shared one that could carry them.

set(detgemm_pc_libs "-ldetgemm")
foreach(component IN LISTS detgemm_components)
  list(INSERT detgemm_pc_libs 1 -ldetgemm_${component})  # core, the first one, comes out last
endforeach()
if(NOT BUILD_SHARED_LIBS)
  if(detgemm_kokkos_bundled)
    foreach(name IN LISTS detgemm_kokkos_names)
      list(APPEND detgemm_pc_libs "\${prefix}/${detgemm_kokkos_folder}/${name}")
    endforeach()
  else()
    list(APPEND detgemm_pc_libs ${detgemm_kokkos_archives} ${detgemm_kokkos_shared})
  endif()
  list(APPEND detgemm_pc_libs ${detgemm_kokkos_flags})
  if(TARGET detgemm_cuda)
    detgemm_link_interface(detgemm_cudart CUDA::cudart_static)
    list(TRANSFORM detgemm_cudart REPLACE "^(archive|shared)=" "")
    list(APPEND detgemm_pc_libs ${detgemm_cudart})
  endif()
  if(TARGET detgemm_hip AND CMAKE_DL_LIBS)
    list(APPEND detgemm_pc_libs -l${CMAKE_DL_LIBS})
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
