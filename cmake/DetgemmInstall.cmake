# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# One export set per component, so that a consumer of one needs nothing of the others.

include(CMakePackageConfigHelpers)

set(detgemm_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/detgemm)
set(detgemm_components core)
foreach(component IN ITEMS reference cuda hip)
  if(TARGET detgemm_${component})
    list(APPEND detgemm_components ${component})
  endif()
endforeach()

# detgemm_install_component(NAME [OPTIONAL]): library detgemm_NAME in an export set of its own. OPTIONAL:
# a build of some targets alone may not have built it.
function(detgemm_install_component component)
  install(TARGETS detgemm_${component} EXPORT detgemm-${component} ${ARGN}
    INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(EXPORT detgemm-${component} NAMESPACE detgemm:: DESTINATION ${detgemm_package_dir}
    FILE detgemm-${component}-targets.cmake)
  if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
    set_target_properties(detgemm_${component} PROPERTIES
      INSTALL_RPATH "$ORIGIN" INSTALL_RPATH_USE_LINK_PATH ON)
  endif()
endfunction()

foreach(component IN LISTS detgemm_components ITEMS detgemm)
  detgemm_install_component(${component})
endforeach()
# Clusters are only there when they are asked for by name.
foreach(component IN ITEMS cluster mpi)
  if(TARGET detgemm_${component})
    detgemm_install_component(${component} OPTIONAL)
  endif()
endforeach()
include(DetgemmInstallConformance)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/core/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")
install(FILES ${PROJECT_BINARY_DIR}/include/detgemm/config.hpp
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/detgemm)

if(BUILD_SHARED_LIBS)
  set(detgemm_static FALSE)
else()
  set(detgemm_static TRUE)
endif()
include(DetgemmLinkInterface)
include(DetgemmKokkosBundle)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/detgemmConfig.cmake.in
  ${PROJECT_BINARY_DIR}/detgemmConfig.cmake INSTALL_DESTINATION ${detgemm_package_dir}
  NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/detgemmConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/detgemmConfig.cmake
  ${PROJECT_BINARY_DIR}/detgemmConfigVersion.cmake
  DESTINATION ${detgemm_package_dir})
if(TARGET detgemm_reference AND NOT BUILD_SHARED_LIBS)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/DetgemmKokkosBeside.cmake.in
    ${PROJECT_BINARY_DIR}/DetgemmKokkosBeside.cmake @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/DetgemmKokkosBeside.cmake
    ${PROJECT_SOURCE_DIR}/cmake/DetgemmKokkosFind.cmake DESTINATION ${detgemm_package_dir})
endif()

if(TARGET detgemm_cli)
  # Whoever builds the libraries alone (--target detgemm_detgemm) installs them alone.
  install(TARGETS detgemm_cli DESTINATION ${CMAKE_INSTALL_BINDIR} OPTIONAL)
  install(CODE "if(NOT EXISTS \"$<TARGET_FILE:detgemm_cli>\")
    message(STATUS \"detgemm: the command was not built and is not installed; build its target, \
detgemm_cli, to have it\")
  endif()")
  set(detgemm_described ${PROJECT_BINARY_DIR}/core/cli/described)
  install(FILES ${detgemm_described}/detgemm.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 OPTIONAL)
  install(FILES ${detgemm_described}/detgemm OPTIONAL
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${detgemm_described}/_detgemm OPTIONAL
    DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  install(FILES ${detgemm_described}/detgemm.fish OPTIONAL
    DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
  file(RELATIVE_PATH detgemm_up ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
  set_property(TARGET detgemm_cli PROPERTY INSTALL_RPATH "$ORIGIN/${detgemm_up}")
  if(TARGET detgemm_mpi_cli)
    # `detgemm conform --transport mpi` looks for it beside itself.
    install(TARGETS detgemm_mpi_cli DESTINATION ${CMAKE_INSTALL_BINDIR} OPTIONAL)
    set_property(TARGET detgemm_mpi_cli PROPERTY INSTALL_RPATH "$ORIGIN/${detgemm_up}")
  endif()
  if(TARGET detgemm_bench)
    # `detgemm bench` looks for it beside itself; a build without it still installs.
    install(TARGETS detgemm_bench DESTINATION ${CMAKE_INSTALL_BINDIR} OPTIONAL)
    set_property(TARGET detgemm_bench PROPERTY INSTALL_RPATH "$ORIGIN/${detgemm_up}")
  endif()
endif()

include(DetgemmPkgConfig)

install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md
  ${PROJECT_SOURCE_DIR}/CHANGELOG.md ${PROJECT_SOURCE_DIR}/core/contract/CONTRACT.md
  DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples DESTINATION ${CMAKE_INSTALL_DOCDIR})

# `uninstall`, or `detgemm_uninstall` as part of another project, removes what the last installation from
# this build folder wrote.
set(detgemm_uninstall uninstall)
if(NOT PROJECT_IS_TOP_LEVEL OR TARGET uninstall)
  set(detgemm_uninstall detgemm_uninstall)
endif()
add_custom_target(${detgemm_uninstall}
  COMMAND ${CMAKE_COMMAND} -DMANIFEST=${CMAKE_BINARY_DIR}/install_manifest.txt
    -P ${PROJECT_SOURCE_DIR}/cmake/DetgemmUninstall.cmake
  COMMENT "Removing what was installed" VERBATIM)
include(DetgemmPackage)
