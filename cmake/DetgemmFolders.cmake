# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# detgemm_add_folder(FOLDER): a folder of the tree with targets of its own, by its path from the root.
# One that is not there is an error: a misspelled test folder would otherwise drop its tests silently.
function(detgemm_add_folder folder)
  if(NOT EXISTS ${PROJECT_SOURCE_DIR}/${folder}/CMakeLists.txt)
    message(FATAL_ERROR "detgemm_add_folder: folder is \"${folder}\": there is no "
      "${folder}/CMakeLists.txt in the source tree. Correct the name, or remove the folder from the "
      "list that names it.")
  endif()
  add_subdirectory(${PROJECT_SOURCE_DIR}/${folder} ${PROJECT_BINARY_DIR}/${folder})
endfunction()
