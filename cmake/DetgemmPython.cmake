# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# What a wheel contains: shared libraries that find each other, those that `detgemm preload` loads among them, the
# command, and PyTorch's operators.

if(NOT BUILD_SHARED_LIBS)
  message(FATAL_ERROR "DETGEMM_BUILD_PYTHON is ON and BUILD_SHARED_LIBS is OFF: the Python package loads "
    "shared libraries, so BUILD_SHARED_LIBS must be ON.")
endif()
detgemm_add_folder(python/torch_ops)

set(detgemm_python_libraries detgemm_detgemm detgemm_core)
foreach(component IN ITEMS cluster reference cuda hip cublas hipblas)
  if(TARGET detgemm_${component})
    list(APPEND detgemm_python_libraries detgemm_${component})
  endif()
endforeach()
# The build tree has the package's layout, so that it serves in place of an installed one.
foreach(target IN LISTS detgemm_python_libraries ITEMS detgemm_torch_ops)
  # A wheel cannot hold the links that a versioned name needs; the package is the version.
  set_property(TARGET ${target} PROPERTY VERSION)
  set_property(TARGET ${target} PROPERTY SOVERSION)
  set_target_properties(${target} PROPERTIES
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib
    BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN")
  install(TARGETS ${target} LIBRARY DESTINATION detgemm/lib)
endforeach()
if(TARGET detgemm_cli)
  set_target_properties(detgemm_cli PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin
    BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN/../lib")
  install(TARGETS detgemm_cli RUNTIME DESTINATION detgemm/bin)
endif()
