# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# The components `cluster` and `mpi`, each only there when it is asked for by name.

foreach(component IN ITEMS cluster mpi)
  if(TARGET detgemm_${component})
    install(TARGETS detgemm_${component} EXPORT detgemm-${component} OPTIONAL
      INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
    install(EXPORT detgemm-${component} NAMESPACE detgemm:: DESTINATION ${detgemm_package_dir}
      FILE detgemm-${component}-targets.cmake)
    if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
      set_target_properties(detgemm_${component} PROPERTIES
        INSTALL_RPATH "$ORIGIN" INSTALL_RPATH_USE_LINK_PATH ON)
    endif()
  endif()
endforeach()
