# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# The component `conformance`: the harness for other people's engines. It is only there when it is asked
# for by name, and always static. A build of the libraries alone has none to install.

if(NOT TARGET detgemm_conformance)
  return()
endif()
install(TARGETS detgemm_conformance detgemm_skeleton EXPORT detgemm-conformance
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} OPTIONAL
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT detgemm-conformance NAMESPACE detgemm:: DESTINATION ${detgemm_package_dir}
  FILE detgemm-conformance-targets.cmake)
