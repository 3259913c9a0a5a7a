# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# Spack's recipe. In a repository of your own: packages/detgemm/package.py; then, with a checkout of the
# sources, `spack dev-build detgemm@main`. There is no release to download yet, hence no checksum.
# Not run by Spack here; a test compiles it.
from spack.package import *  # noqa: F403  (what Spack gives to recipes)


class Detgemm(CMakePackage, CudaPackage):  # noqa: F405
    """C = A*B whose rows have the same bits whatever batch they ride in, under a written contract."""

    license("Apache-2.0")

    version("main", branch="main")  # noqa: F405

    variant("shared", default=True, description="Build shared libraries")  # noqa: F405
    variant("reference", default=True, description="The bit-exact reference, on Kokkos")  # noqa: F405
    variant("cli", default=True, description="The detgemm command")  # noqa: F405
    variant("hip", default=False, description="The HIP backend, compiled by a plain clang")  # noqa: F405

    depends_on("c", type="build")  # noqa: F405
    depends_on("cxx", type="build")  # noqa: F405
    depends_on("cmake@3.25:", type="build")  # noqa: F405
    depends_on("kokkos@3.4: +openmp +serial", when="+reference")  # noqa: F405
    depends_on("cli11@2.1:", type="build", when="+cli")  # noqa: F405
    depends_on("nlohmann-json@3.10:", type="build", when="+cli")  # noqa: F405
    depends_on("cuda@12.8:", when="+cuda")  # noqa: F405
    depends_on("llvm@19: +clang +lld targets=amdgpu", type="build", when="+hip")  # noqa: F405

    conflicts("%gcc@:11", msg="detgemm needs C++20 as GCC 12 has it")  # noqa: F405

    def cmake_args(self):
        define = self.define
        return [
            self.define_from_variant("BUILD_SHARED_LIBS", "shared"),
            self.define_from_variant("DETGEMM_ENABLE_KOKKOS", "reference"),
            self.define_from_variant("DETGEMM_ENABLE_CUDA", "cuda"),
            self.define_from_variant("DETGEMM_ENABLE_HIP", "hip"),
            self.define_from_variant("DETGEMM_BUILD_CLI", "cli"),
            define("DETGEMM_BUILD_TESTS", False),
            define("DETGEMM_BUILD_BENCH", False),
            define("DETGEMM_BUILD_EXAMPLES", False),
            define("FETCHCONTENT_FULLY_DISCONNECTED", True),
        ]
