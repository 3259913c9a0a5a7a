// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "backends/hip/find_runtime.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>

namespace detgemm::hip {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kStem = "libamdhip64.so";

// ROCm gives its runtime the number of its own major version: 5, 6 and 7 so far. The dynamic linker
// has no search by pattern, so numbers that may come are tried by name.
constexpr int kOldest = 5;
constexpr int kNewest = 24;

/// The numbers in a text: "rocm-6.10.2" has 6, 10, 2.
std::vector<long> numbers_in(std::string_view text) {
  std::vector<long> numbers;
  bool inside = false;
  for (const char c : text) {
    const bool digit = c >= '0' && c <= '9';
    if (digit && !inside) numbers.push_back(0);
    if (digit) numbers.back() = std::min(numbers.back() * 10 + (c - '0'), 1'000'000'000L);
    inside = digit;
  }
  return numbers;
}

bool newer(const std::string& a, const std::string& b) { return numbers_in(a) > numbers_in(b); }

/// Names of the entries of a folder that start with `start`; none where it cannot be read.
std::vector<std::string> entries(const std::string& folder, std::string_view start) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::string name = it->path().filename().string();
    if (name.compare(0, start.size(), start) == 0) names.push_back(std::move(name));
  }
  return names;
}

/// The file that a handle stands for.
std::string path_of(void* library, std::string otherwise) {
  link_map* map = nullptr;
  if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr || map->l_name == nullptr ||
      *map->l_name == '\0') {
    return otherwise;
  }
  return map->l_name;
}

/// The first HIP runtime among the libraries of this process.
FoundRuntime already_loaded() {
  for (const std::string& path : mapped_runtimes()) {
    return {dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD), path};
  }
  return {};
}

/// Whether dlerror's sentence means that the file itself is not there. Where one of the libraries
/// that it needs is missing, the sentence is about that one.
bool is_absent(std::string_view sentence, std::string_view file) {
  return sentence.substr(0, file.size() + 1) == std::string(file) + ":" &&
         sentence.find("No such file or directory") != std::string_view::npos;
}

/// Tries files in turn and remembers the first that is there and does not load.
class Attempt {
 public:
  bool open(const std::string& file) {
    found_.library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (found_.library != nullptr) {
      found_.path = path_of(found_.library, file);
      return true;
    }
    const char* const error = dlerror();
    const std::string sentence = error == nullptr ? "no reason given" : error;
    if (broken_.empty() && !is_absent(sentence, file)) {
      broken_ = file + " was found and does not load: " + sentence;
    }
    return false;
  }
  const FoundRuntime& found() const { return found_; }
  const std::string& broken() const { return broken_; }

 private:
  FoundRuntime found_;
  std::string broken_;
};

std::string nowhere(const Places& places) {
  return "no HIP runtime was found on this machine: libamdhip64.so." + std::to_string(kNewest) +
         " to ." + std::to_string(kOldest) +
         " and libamdhip64.so are not in the dynamic linker's path, nor is one in " +
         (places.rocm_path.empty() ? std::string("$ROCM_PATH/lib (ROCM_PATH is not set)")
                                   : places.rocm_path + "/lib ($ROCM_PATH)") +
         ", " + places.opt + "/rocm/lib or " + places.opt +
         "/rocm-*/lib. Where ROCm is installed elsewhere, name its folder in ROCM_PATH, or the "
         "library "
         "in DETGEMM_HIP_RUNTIME";
}

}  // namespace

std::vector<std::string> mapped_runtimes() {
  std::vector<std::string> paths;
  dl_iterate_phdr(
      [](dl_phdr_info* one, std::size_t, void* to) {
        const std::string_view name = one->dlpi_name == nullptr ? "" : one->dlpi_name;
        const std::string_view file = name.substr(name.rfind('/') + 1);
        auto& all = *static_cast<std::vector<std::string>*>(to);
        if (file.substr(0, kStem.size()) == kStem &&
            std::find(all.begin(), all.end(), name) == all.end()) {
          all.emplace_back(name);
        }
        return 0;
      },
      &paths);
  return paths;
}

Status check_one_runtime() {
  const std::vector<std::string> paths = mapped_runtimes();
  if (paths.size() < 2) return {};
  return {Errc::unavailable,
          "hip: this process has loaded two HIP runtimes, " + paths[0] + " and " + paths[1] +
              ": streams and memory of one mean nothing to the other. Let the program load its own "
              "before the first call, or name that one in DETGEMM_HIP_RUNTIME"};
}

Places places_here() {
  Places places;
  if (const char* path = secure_getenv("DETGEMM_HIP_RUNTIME")) places.file = path;
  if (const char* path = secure_getenv("ROCM_PATH")) places.rocm_path = path;
  return places;
}

std::vector<std::string> runtime_folders(const Places& places) {
  std::vector<std::string> folders;
  if (!places.rocm_path.empty()) folders.push_back(places.rocm_path + "/lib");
  folders.push_back(places.opt + "/rocm/lib");
  std::vector<std::string> versions = entries(places.opt, "rocm-");
  std::sort(versions.begin(), versions.end(), newer);
  for (const std::string& version : versions)
    folders.push_back(places.opt + "/" + version + "/lib");
  return folders;
}

std::vector<std::string> runtimes_in(const std::string& folder) {
  std::vector<std::string> files;
  for (const std::string& name : entries(folder, kStem)) {
    const std::string_view rest = std::string_view(name).substr(kStem.size());
    // "libamdhip64.so.7.1.70100" is the file behind the link libamdhip64.so.7.
    const bool number = rest.size() > 1 && rest[0] == '.' &&
                        rest.find_first_not_of("0123456789", 1) == std::string_view::npos;
    if (rest.empty() || number) files.push_back(folder + "/" + name);
  }
  const std::size_t before = folder.size() + 1 + kStem.size();
  std::sort(files.begin(), files.end(), [&](const std::string& a, const std::string& b) {
    return newer(a.substr(before), b.substr(before));
  });
  return files;
}

Result<FoundRuntime> find_runtime(const Places& places) {
  if (Status s = check_one_runtime(); !s) return s;
  if (FoundRuntime found = already_loaded(); found.library != nullptr) return found;
  Attempt attempt;
  if (!places.file.empty()) {
    if (attempt.open(places.file)) return attempt.found();
    return Status{Errc::unavailable,
                  "hip: DETGEMM_HIP_RUNTIME is \"" + places.file + "\": " +
                      (attempt.broken().empty() ? "there is no such file" : attempt.broken())};
  }
  for (int number = kNewest; number >= kOldest; --number) {
    if (attempt.open(std::string(kStem) + "." + std::to_string(number))) return attempt.found();
  }
  if (attempt.open(std::string(kStem))) return attempt.found();
  for (const std::string& folder : runtime_folders(places)) {
    for (const std::string& file : runtimes_in(folder)) {
      if (attempt.open(file)) return attempt.found();
    }
  }
  return Status{Errc::unavailable,
                "hip: " + (attempt.broken().empty() ? nowhere(places) : attempt.broken())};
}

}  // namespace detgemm::hip
