#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""pip_backend_test.py ROOT: what `pip install .` says before it compiles, and that it says so at once."""
import os
import pathlib
import pty
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(ROOT / "packaging"))
import pip_backend  # noqa: E402

CUDA_OFF = {"cmake.define.DETGEMM_ENABLE_CUDA": "OFF"}
HOOK = "import pip_backend; pip_backend.get_requires_for_build_wheel({})"


class Backend(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def plan(self, settings=None, **programs):
        """What is said where these programs alone are installed, each with what it prints."""
        for name, says in programs.items():
            (self.folder / name).write_text(f"#!/bin/sh\necho '{says}'\n")
            (self.folder / name).chmod(0o755)
        with mock.patch.dict(os.environ, {"PATH": str(self.folder)}, clear=True), \
                mock.patch.object(pip_backend, "USUAL_NVCC", "/nowhere/nvcc"), mock.patch("os.cpu_count", return_value=2):
            return "\n".join(pip_backend.plan(settings or {}))

    def test_with_nvcc_the_cuda_kernels_are_compiled(self):
        said = self.plan(nvcc="Cuda compilation tools, release 13.0, V13.0.88")
        self.assertIn(f"the CUDA kernels with {self.folder}/nvcc (13.0)", said)
        self.assertIn("takes about 29 min on 2 idle cores", said)
        self.assertIn("the host alone takes about 4 min on 2 idle cores: --config-settings=cmake.define.DETGEMM_ENABLE_CUDA=OFF", said)

    def test_without_nvcc_or_with_an_old_one_the_host_alone_is(self):
        self.assertIn("the host's backend alone: there is no nvcc", self.plan())
        old = self.plan(nvcc="Cuda compilation tools, release 11.8, V11.8.89")
        self.assertIn(f"alone: {self.folder}/nvcc is older than CUDA 12.8", old)
        self.assertIn("takes about 4 min on 2 idle cores", old)

    def test_an_option_goes_before_what_is_installed(self):
        said = self.plan(CUDA_OFF, nvcc="Cuda compilation tools, release 13.0, V13.0.88")
        self.assertIn("alone, as DETGEMM_ENABLE_CUDA asks", said)

    def test_where_cuda_is_required_and_absent_nothing_is_promised(self):
        for settings in ({"cmake.define.DETGEMM_ENABLE_CUDA": "ON"}, {"cmake.args": "-DX=1 -DDETGEMM_ENABLE_CUDA:STRING=on"}):
            said = self.plan(settings)
            self.assertIn("compiles nothing: DETGEMM_ENABLE_CUDA is ON, and there is no nvcc", said)
            self.assertNotIn("this takes", said)

    def test_words_of_cmake_count_wherever_they_are_given(self):
        nvcc = {"nvcc": "Cuda compilation tools, release 13.0, V13.0.88"}
        alone = "alone, as DETGEMM_ENABLE_CUDA asks"
        self.assertIn(alone, self.plan({"cmake.args": ["-DX=1", "-DDETGEMM_ENABLE_CUDA=OFF"]}, **nvcc))
        with mock.patch.object(pip_backend.os, "environ", {"CMAKE_ARGS": "-DDETGEMM_ENABLE_CUDA=OFF", "PATH": ""}):
            self.assertEqual(pip_backend.value({"cmake.define.DETGEMM_ENABLE_CUDA": "ON"}, "DETGEMM_ENABLE_CUDA"), "OFF")
        self.assertIn("the CUDA kernels with", self.plan({"cmake.define.DETGEMM_ENABLE_CUDA": ["off", "AUTO"]}, **nvcc))

    def test_amd_kernels_are_named_where_a_compiler_for_them_is_found(self):
        clang = {"clang++-19": "clang version 19.1.7"}
        self.assertIn(f"the AMD kernels with {self.folder}/clang++-19", self.plan(**clang))
        self.assertNotIn("AMD", self.plan({"cmake.define.DETGEMM_ENABLE_HIP": ["ON", "off"]}, **clang))

    def test_an_old_cmake_is_replaced(self):
        for says, more in (("cmake version 3.22.1", ["cmake>=3.25"]), ("cmake version 3.25.1", [])):
            with mock.patch.object(pip_backend, "say"), mock.patch.object(pip_backend, "nvcc", return_value=(None, None)):
                (self.folder / "cmake").write_text(f"#!/bin/sh\necho '{says}'\n")
                (self.folder / "cmake").chmod(0o755)
                with mock.patch.dict(os.environ, {"PATH": str(self.folder)}):
                    self.assertEqual(pip_backend.get_requires_for_build_wheel(), [*pip_backend.NEEDED, *more])

    def test_a_terminal_shows_it_though_pip_keeps_the_output(self):
        try:
            process, terminal = pty.fork()
        except OSError as error:
            self.skipTest(f"no terminal can be made here: {error}")
        if process == 0:  # a session whose terminal is the other end; its output goes elsewhere, as pip's builds' does
            os.chdir(ROOT / "packaging")
            started = subprocess.run([sys.executable, "-c", HOOK], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
            os._exit(started.returncode)
        said, begun = b"", time.monotonic()
        try:
            while part := os.read(terminal, 4096):
                said += part
        except OSError:  # the other end is closed
            pass
        took = time.monotonic() - begun
        self.assertEqual(os.waitpid(process, 0)[1], 0)
        self.assertIn(b"detgemm: compiles the host's backend", said)
        self.assertIn(b" min on ", said)
        self.assertLess(took, 10)  # a second on an idle machine; the rest is other tests

    def test_other_hooks_are_scikit_build_cores(self):
        build = mock.Mock(build_wheel="its own")
        with mock.patch.dict(sys.modules, {"scikit_build_core": mock.Mock(build=build)}):
            self.assertEqual(pip_backend.build_wheel, "its own")


if __name__ == "__main__":
    unittest.main()
