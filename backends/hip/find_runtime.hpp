// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <vector>

#include "detgemm/status.hpp"

namespace detgemm::hip {

/// Where to look for libamdhip64; a test gives folders of its own.
struct Places {
  std::string file;       ///< $DETGEMM_HIP_RUNTIME, the library itself; empty where it is not set
  std::string rocm_path;  ///< $ROCM_PATH; empty where it is not set
  std::string opt = "/opt";  ///< has rocm/lib and rocm-VERSION/lib
};
/// Those of this process. A program with raised rights reads neither variable.
Places places_here();

/// The folders outside of the dynamic linker's path in which to look, in order: $ROCM_PATH/lib,
/// /opt/rocm/lib, then each /opt/rocm-VERSION/lib, newest version first.
std::vector<std::string> runtime_folders(const Places& places);

/// The files of a folder that are a HIP runtime by their names, libamdhip64.so.NUMBER with the
/// largest number first and libamdhip64.so last; empty where there is no such folder.
std::vector<std::string> runtimes_in(const std::string& folder);

/// A HIP runtime that is loaded now.
struct FoundRuntime {
  void* library = nullptr;  ///< a handle of dlopen
  std::string path;         ///< the file, as far as the loader says
};

/// The HIP runtimes that are mapped into this process, each once, by their files.
std::vector<std::string> mapped_runtimes();
/// Refuses where that is more than one: streams and memory of one are nothing to the other, and
/// which of them a caller's are cannot be known.
Status check_one_runtime();

/// Loads a HIP runtime. First comes the one that the program itself has loaded, whatever its
/// number, because the program's streams belong to it; then the one that DETGEMM_HIP_RUNTIME names,
/// and no other where it is set; then libamdhip64.so.NUMBER in the dynamic linker's own path,
/// newest number first; then runtime_folders. A file that does not load is passed over.
///
/// Where nothing loads, the sentence says where it was looked for, or, where a file was found,
/// which one and why it does not load.
Result<FoundRuntime> find_runtime(const Places& places);

}  // namespace detgemm::hip
