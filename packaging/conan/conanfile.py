# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# Conan 2's recipe, for a checkout of the sources:
#   conan create packaging/conan                              the reference too, on the Kokkos that CMake finds
#   Kokkos_ROOT=$PWD/.deps/kokkos conan create packaging/conan      ... on this one
#   conan create packaging/conan -o 'detgemm/*:reference=False'     contracts and checks alone
# test_package/ is then built against the package and run.
import pathlib
import re

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy


class Detgemm(ConanFile):
    name = "detgemm"
    license = "Apache-2.0"
    description = "GEMM whose bits do not depend on the batch, under a written contract"
    topics = ("gemm", "blas", "reproducibility", "kokkos", "cuda")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "reference": [True, False], "cuda": [True, False]}
    default_options = {"shared": False, "reference": True, "cuda": False}

    @property
    def checkout(self):
        return pathlib.Path(self.recipe_folder).parents[1]

    def set_version(self):
        header = (self.checkout / "core/include/detgemm/version.hpp").read_text()
        self.version = re.search(r'VERSION_STRING "(.*)"', header).group(1)

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "README.md", "CHANGELOG.md", "cmake/*", "core/*",
                        "backends/*", "cluster/*", "cuda/*", "hip/*", "examples/*"):
            copy(self, pattern, str(self.checkout), self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        tools = CMakeToolchain(self)
        on = {True: "ON", False: "OFF"}
        tools.cache_variables["DETGEMM_ENABLE_KOKKOS"] = on[bool(self.options.reference)]
        tools.cache_variables["DETGEMM_ENABLE_CUDA"] = on[bool(self.options.cuda)]
        tools.cache_variables["DETGEMM_ENABLE_HIP"] = "OFF"
        for part in ("TESTS", "BENCH", "EXAMPLES", "CLI"):
            tools.cache_variables[f"DETGEMM_BUILD_{part}"] = "OFF"
        tools.cache_variables["FETCHCONTENT_FULLY_DISCONNECTED"] = "ON"
        tools.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()

    def package_info(self):
        # The package's own detgemmConfig.cmake is the one to find.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = ["lib/cmake/detgemm"]
        self.cpp_info.libs = []
