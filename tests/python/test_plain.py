# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""The package without PyTorch: contracts, information, the command, and what it costs to import."""
import importlib.util
import os
import pathlib
import subprocess
import sys
import types
import zlib

import pytest

import detgemm
from detgemm import _library, views


def run(code, **environment):
    return subprocess.run([sys.executable, "-W", "error", "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, check=False, env={**os.environ, **environment})


def test_a_contract_is_what_its_text_says():
    contract = detgemm.Contract("hopper/bf16/tree:512")
    assert (contract.text, contract.input, contract.output) == ("hopper/bf16/tree:512->bf16", "bf16", "bf16")
    assert (contract.arithmetic, contract.reduction, contract.leaf_k) == ("hopper", "tree", 512)
    assert contract.k_block == 16 and f"{contract.digest:016x}" == "762d74aba7f49e72"
    assert "H200" in contract.evidence and contract.with_output("fp32").output == "fp32"
    assert contract == detgemm.Contract("hopper/bf16/tree:512->bf16") and "leaf_k=512" in contract.canonical


@pytest.mark.parametrize("text, said", [
    ("hopper/bf16", "must read ARITHMETIC/INPUT/REDUCTION"), ("hopper/bf16/chan", '"chan"'),
    ("hoper/bf16/chain", '"hoper"'), (7, "contract is 7"), ("hopper/bf16/fold:7", "7")])
def test_what_is_no_contract_gets_a_sentence(text, said):
    with pytest.raises(detgemm.DetgemmError, match=said):
        detgemm.Contract(text)


def test_info_says_what_was_built():
    info = detgemm.info()
    assert info["version"] == detgemm.version() and info["backends"]["reference"] == "available"
    assert ("no CUDA kernels" in info["summary"]) == ("cuda" not in info["kinds"])


def test_the_command_is_reached():
    done = subprocess.run([sys.executable, "-m", "detgemm", "info"], stdout=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 0 and "hopper/bf16/chain->fp32" in done.stdout
    done = subprocess.run([sys.executable, "-m", "detgemm", "explain", "--contract", "hopper/bf16/chan", "--m", "1", "--n",
                           "1", "--k", "1"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode != 0 and "chan" in done.stdout


def test_importing_loads_nothing_and_is_quick():
    code = ("import sys, time; start = time.process_time(); import detgemm; took = time.process_time() - start\n"
            "assert not {'torch', 'numpy', 'cupy', 'jax'} & set(sys.modules), sorted(sys.modules)\n"
            "assert detgemm._library.library.cache_info().currsize == 0\nprint(took)")
    times = []
    for _ in range(3):
        done = run(code)
        assert done.returncode == 0, done.stderr
        times.append(float(done.stdout))
    assert min(times) < 0.080


def test_a_library_that_does_not_fit_is_refused(tmp_path):
    done = run("import detgemm; detgemm.version()", DETGEMM_LIBRARY=str(tmp_path / "none.so"))
    assert "none.so could not be loaded" in done.stderr
    source = tmp_path / "other.c"
    source.write_text("int detgemm_abi_version(void) { return 77; }")
    library = tmp_path / "other.so"
    if subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=False).returncode == 0:
        done = run("import detgemm; detgemm.version()", DETGEMM_LIBRARY=str(library))
        assert "has version 77 of the C interface: this package needs version 0" in done.stderr


def test_threads_are_set_once():
    done = run("import detgemm\ndetgemm.start(2); detgemm.start(2)\ntry: detgemm.start(3)\n"
               "except detgemm.DetgemmError as error: print(error)")
    assert done.stdout.strip() == ("threads is 3: the reference was started with 2 in this process, which cannot be "
                                   "changed"), done.stderr
    done = run("import detgemm; detgemm.start(-1)")
    assert "threads is -1" in done.stderr
    done = run("import detgemm; detgemm.start('two')")
    assert "must be an integer" in done.stderr


def test_a_process_may_fork_after_the_first_product():
    code = ("import os, detgemm\ndetgemm.start()\npid = os.fork()\nif pid == 0:\n"
            "    import numpy as np\n"
            "    x = np.ones((300, 64), np.float32)\n"
            "    d = detgemm.gemm(x, x.T, 'ieee_fma/fp32/chain')\n    os._exit(0 if d[299, 299] == 64 else 3)\n"
            "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))")
    pytest.importorskip("numpy")
    assert run(code).stdout.strip() == "0"


def test_a_child_without_the_threads_is_refused():
    code = ("import os, sys, detgemm\ndetgemm.start(2)\nif len(sys.argv) > 1: import torch, detgemm.torch as dt\n"
            "import numpy as np\nx = np.ones((3, 16), np.float32)\n"
            "if os.fork() == 0:\n"
            "    try:\n"
            "        dt.gemm(torch.ones(3, 16), torch.ones(16, 3), 'ieee_fma/fp32/chain') if len(sys.argv) > 1 else \\\n"
            "            detgemm.gemm(x, x.T, 'ieee_fma/fp32/chain')\n"
            "    except RuntimeError as error: print(error, flush=True)\n"
            "    os._exit(0)\nos.wait()")
    pytest.importorskip("numpy")
    for words in [()] + ([("torch",)] if importlib.util.find_spec("torch") else []):
        said = subprocess.run([sys.executable, "-c", code, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False).stdout
        assert "this process was forked after detgemm.start" in said, said


def needed(library):
    """The names of the shared libraries that one asks for, and its run path."""
    text = subprocess.run(["readelf", "-d", library], stdout=subprocess.PIPE, text=True, check=True).stdout
    names = [line.split("[")[1].rstrip("]") for line in text.splitlines() if "(NEEDED)" in line]
    paths = [line.split("[")[1].rstrip("]") for line in text.splitlines() if "RUNPATH" in line or "RPATH" in line]
    return names, paths


def test_the_libraries_need_nothing_of_cuda_and_python():
    libraries = sorted(_library.folder().glob("*.so"))
    assert len(libraries) >= 3
    allowed = ("libdetgemm", "libc.so", "libm.so", "libstdc++", "libgcc_s", "libgomp", "libdl.so", "libpthread",
               "librt.so", "ld-linux", "libtorch_cpu.so", "libkokkos")
    for library in libraries:
        names, paths = needed(library)
        assert all(name.startswith(allowed) for name in names), (library, names)
        # A wheel of a release has the OpenMP runtime in a folder of its own, where auditwheel puts it.
        assert {part for path in paths for part in path.split(":")} <= {"$ORIGIN", "$ORIGIN/../../detgemm.libs"}, (library, paths)
        assert ("libtorch_cpu.so" in names) == (library.name == "detgemm_torch.so")


def test_the_package_fits_a_wheel():
    compressed = sum(len(zlib.compress(path.read_bytes(), 6)) for path in _library.folder().parent.rglob("*")
                     if path.is_file() and path.parent.name in ("lib", "bin"))
    assert 0 < compressed < 64 << 20


def test_every_file_of_the_package_is_python_of_3_10():
    import ast
    files = list(pathlib.Path(detgemm.__file__).parent.rglob("*.py"))
    assert len(files) >= 10
    for path in files:
        ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 10))


def test_rocm_packages_name_their_runtime(tmp_path):
    """ROCm that came as Python packages is on no search path; a file that the user names comes first."""
    (tmp_path / "rocm_sdk.py").write_text("def find_libraries(*names):\n    return ['/packages/lib' + names[0] + '.so.7']\n")
    code = "import detgemm, os; detgemm.version(); print(os.environ.get('DETGEMM_HIP_RUNTIME'))"
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    clean = {key: value for key, value in os.environ.items() if key != "DETGEMM_HIP_RUNTIME"}

    def said(**more):
        return subprocess.run([sys.executable, "-c", code], env={**clean, "PYTHONPATH": path, **more}, stdout=subprocess.PIPE,
                              text=True, check=True).stdout.strip()

    assert said() == "/packages/libamdhip64.so.7"
    assert said(DETGEMM_HIP_RUNTIME="/mine.so") == "/mine.so"
    (tmp_path / "rocm_sdk.py").write_text("raise RuntimeError('not whole')\n")
    assert said() == "None"


@pytest.mark.parametrize("is_hip, kind", [(True, 2), (False, 1)])
def test_cupy_says_whose_its_devices_are(monkeypatch, is_hip, kind):
    """A build of CuPy for ROCm has CUDA's names for everything but this."""
    class Device:
        def __init__(self, index):
            self.id = index

        def __enter__(self):
            entered.append(self.id)

        def __exit__(self, *_):
            return False

    class Array:
        device, dtype, shape = Device(1), types.SimpleNamespace(name="float16", itemsize=2, isnative=True), (3, 4)
        __cuda_array_interface__ = {"data": (4096, False), "shape": (3, 4), "version": 3}

    entered = []
    cuda = types.SimpleNamespace(runtime=types.SimpleNamespace(is_hip=is_hip), Device=Device,
                                 get_current_stream=lambda: types.SimpleNamespace(ptr=77))
    monkeypatch.setitem(sys.modules, "cupy", types.SimpleNamespace(cuda=cuda))
    Array.__module__ = "cupy"
    view = views.describe(Array(), "a")
    assert view.place == (kind, 1) and view.stream == 77 and entered == [1]
    with view.current():
        assert entered == [1, 1]
