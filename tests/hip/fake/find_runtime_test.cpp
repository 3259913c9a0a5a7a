// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// How libamdhip64 is found, on folders of the test's own. DETGEMM_FAKE_LIBRARY is a HIP runtime,
// DETGEMM_FAKE_NEEDY one whose dependency cannot be found.

#include "backends/hip/find_runtime.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace detgemm::hip {
namespace {

namespace fs = std::filesystem;

class FindRuntime : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / ("detgemm_find_" + std::to_string(getpid()));
    fs::remove_all(root_);
    fs::create_directories(root_);
    places_.opt = (root_ / "opt").string();
    places_.rocm_path = (root_ / "chosen").string();
    if (void* installed = dlopen("libamdhip64.so", RTLD_NOW); installed != nullptr) {
      dlclose(installed);
      GTEST_SKIP() << "a HIP runtime is in the dynamic linker's path";
    }
  }
  void TearDown() override { fs::remove_all(root_); }

  /// A file of the tree: a copy, so that the loader takes it for a library of its own.
  std::string put(const std::string& file, const char* library) const {
    const fs::path path = root_ / file;
    fs::create_directories(path.parent_path());
    fs::copy_file(library, path);
    return path.string();
  }
  std::string put_text(const std::string& file) const {
    const fs::path path = root_ / file;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << "this is no library\n";
    return path.string();
  }
  /// The file that is found, which is unloaded again.
  std::string found() const {
    const auto result = find_runtime(places_);
    if (!result) return result.status().message();
    dlclose(result->library);
    return result->path;
  }

  fs::path root_;
  Places places_;
};

TEST_F(FindRuntime, LooksInNewerVersionsFirst) {
  for (const char* version : {"rocm-6.4.3", "rocm-10.0.0", "rocm-7.2", "rocm-7.10.1"}) {
    fs::create_directories(fs::path(places_.opt) / version);
  }
  std::vector<std::string> expected{places_.rocm_path + "/lib"};
  for (const char* version : {"rocm", "rocm-10.0.0", "rocm-7.10.1", "rocm-7.2", "rocm-6.4.3"}) {
    expected.push_back(places_.opt + "/" + version + "/lib");
  }
  EXPECT_EQ(runtime_folders(places_), expected);
  EXPECT_EQ(runtime_folders({"", "", "/nowhere"}), std::vector<std::string>{"/nowhere/rocm/lib"});
}

TEST_F(FindRuntime, SortsByNumberAndIgnoresOtherFiles) {
  for (const char* name :
       {"libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.10", "libamdhip64.so.7.1.70100",
        "libamdhip64.so.", "libamdhip64.a", "libamdhip64.so.8", "libamdhip64.so.7-debug"}) {
    put_text(std::string("lib/") + name);
  }
  const std::string folder = (root_ / "lib").string();
  EXPECT_EQ(runtimes_in(folder),
            (std::vector<std::string>{folder + "/libamdhip64.so.10", folder + "/libamdhip64.so.8",
                                      folder + "/libamdhip64.so.7", folder + "/libamdhip64.so"}));
  EXPECT_TRUE(runtimes_in((root_ / "nothing").string()).empty());
}

TEST_F(FindRuntime, TakesTheFirstPlaceThatHasOne) {
  const std::string old = put("opt/rocm-6.4.3/lib/libamdhip64.so.6", DETGEMM_FAKE_LIBRARY);
  EXPECT_EQ(found(), old);
  const std::string later = put("opt/rocm-8.0.0/lib/libamdhip64.so.8", DETGEMM_FAKE_LIBRARY);
  EXPECT_EQ(found(), later);
  const std::string usual = put("opt/rocm/lib/libamdhip64.so.7", DETGEMM_FAKE_LIBRARY);
  EXPECT_EQ(found(), usual);
  const std::string chosen = put("chosen/lib/libamdhip64.so", DETGEMM_FAKE_LIBRARY);
  EXPECT_EQ(found(), chosen);
}

TEST_F(FindRuntime, SaysWhereItLooked) {
  EXPECT_EQ(
      found(),
      "hip: no HIP runtime was found on this machine: libamdhip64.so.24 to .5 and "
      "libamdhip64.so are not in the dynamic linker's path, nor is one in " +
          places_.rocm_path + "/lib ($ROCM_PATH), " + places_.opt + "/rocm/lib or " + places_.opt +
          "/rocm-*/lib. Where ROCm is installed elsewhere, name its folder in ROCM_PATH, or the "
          "library in DETGEMM_HIP_RUNTIME");
  places_.rocm_path.clear();
  EXPECT_NE(found().find("$ROCM_PATH/lib (ROCM_PATH is not set)"), std::string::npos) << found();
}

TEST_F(FindRuntime, SaysWhyAFileDoesNotLoad) {
  const std::string text = put_text("opt/rocm/lib/libamdhip64.so.7");
  EXPECT_EQ(found().rfind("hip: " + text + " was found and does not load: ", 0), 0U) << found();
  EXPECT_NE(found().find("file too short"), std::string::npos) << found();
}

TEST_F(FindRuntime, NamesADependencyThatIsMissing) {
  const std::string needy = put("opt/rocm/lib/libamdhip64.so.7", DETGEMM_FAKE_NEEDY);
  EXPECT_EQ(found().rfind("hip: " + needy + " was found and does not load: ", 0), 0U) << found();
  EXPECT_NE(found().find("libdetgemm_fake_gone.so"), std::string::npos) << found();
}

TEST_F(FindRuntime, PassesOverAFileThatDoesNotLoad) {
  put_text("chosen/lib/libamdhip64.so.9");
  const std::string good = put("opt/rocm-7.2.0/lib/libamdhip64.so.7", DETGEMM_FAKE_LIBRARY);
  EXPECT_EQ(found(), good);
}

/// A program's streams belong to the runtime that it uses, so that one wins, whatever its number.
TEST_F(FindRuntime, PrefersTheOneThatTheProgramHasLoaded) {
  put("chosen/lib/libamdhip64.so.9", DETGEMM_FAKE_LIBRARY);
  const std::string own = put("program/libamdhip64.so.3", DETGEMM_FAKE_LIBRARY);
  void* const library = dlopen(own.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  EXPECT_EQ(found(), own);
  dlclose(library);
  EXPECT_NE(found(), own);
}

TEST_F(FindRuntime, TakesTheFileThatIsNamed) {
  put("chosen/lib/libamdhip64.so.9", DETGEMM_FAKE_LIBRARY);
  places_.file = put("anywhere/libamdhip64.so.7", DETGEMM_FAKE_LIBRARY);
  EXPECT_EQ(found(), places_.file);
  places_.file = (root_ / "gone.so").string();
  EXPECT_EQ(found(), "hip: DETGEMM_HIP_RUNTIME is \"" + places_.file + "\": there is no such file");
  places_.file = put_text("text.so");
  EXPECT_NE(found().find("text.so was found and does not load: "), std::string::npos) << found();
}

/// Streams of one runtime are given to the other, which takes them for addresses of its own.
TEST_F(FindRuntime, RefusesTwoRuntimesInOneProcess) {
  const std::string one = put("one/libamdhip64.so.6", DETGEMM_FAKE_LIBRARY);
  const std::string two = put("two/libamdhip64.so.7", DETGEMM_FAKE_LIBRARY);
  void* const first = dlopen(one.c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_TRUE(check_one_runtime());
  void* const second = dlopen(two.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_TRUE(first != nullptr && second != nullptr);
  EXPECT_EQ(mapped_runtimes().size(), 2U);
  const auto result = find_runtime(places_);
  ASSERT_FALSE(result);
  const std::string said = result.status().message();
  EXPECT_NE(said.find(one + " and " + two), std::string::npos) << said;
  dlclose(first);
  dlclose(second);
  EXPECT_TRUE(mapped_runtimes().empty());
}

}  // namespace
}  // namespace detgemm::hip
