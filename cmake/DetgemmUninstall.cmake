# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# cmake -DMANIFEST=FILE -P DetgemmUninstall.cmake: removes the files that an installation listed there,
# and then the folders that it left empty and that are detgemm's by name.

if(NOT EXISTS "${MANIFEST}")
  message(FATAL_ERROR "detgemm: nothing was installed from this build folder (there is no ${MANIFEST}).")
endif()
file(STRINGS "${MANIFEST}" files)
set(folders "")
foreach(file IN LISTS files)
  set(file "$ENV{DESTDIR}${file}")
  if(EXISTS "${file}" OR IS_SYMLINK "${file}")
    message(STATUS "Removing: ${file}")
    file(REMOVE "${file}")
  else()
    message(STATUS "Not there any more: ${file}")
  endif()
  get_filename_component(folder "${file}" DIRECTORY)
  while(folder MATCHES "/detgemm(/|$)")
    list(APPEND folders "${folder}")
    get_filename_component(folder "${folder}" DIRECTORY)
  endwhile()
endforeach()
list(REMOVE_DUPLICATES folders)
list(SORT folders ORDER DESCENDING)  # the deepest first
foreach(folder IN LISTS folders)
  file(GLOB left LIST_DIRECTORIES TRUE "${folder}/*" "${folder}/.*")
  list(FILTER left EXCLUDE REGEX "/\\.\\.?$")
  if(IS_DIRECTORY "${folder}" AND NOT left)
    file(REMOVE_RECURSE "${folder}")
  endif()
endforeach()
file(REMOVE "${MANIFEST}")
