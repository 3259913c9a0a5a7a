# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Which launches share a compiled kernel: those whose code cannot differ."""
import pytest
import torch

triton = pytest.importorskip("triton", reason="Triton is not installed")

from detgemm.torch.kernels import launch as launching  # noqa: E402


class Parameter:
    def __init__(self, do_not_specialize=False):
        self.do_not_specialize = do_not_specialize


class Compiled:
    """What Triton 3.6 returns: `run` takes a grid, a stream, the function, its metadata, three hooks, then the arguments."""
    function, packed_metadata = "function", "packed"

    def __init__(self, launches):
        self.launches = launches

    def run(self, width, height, depth, stream, function, packed, metadata, entered, left, *arguments):
        assert (stream, function, packed, metadata, entered, left) == (7, "function", "packed", None, None, None)
        self.launches.append((self, (width, height, depth), arguments))

    def __getitem__(self, grid):
        return lambda *arguments: self.launches.append((self, grid, ("watched", *arguments)))


class Kernel(triton.JITFunction):
    """Stands for a kernel f(x, rows, n, eps, TYPE, WIDTH) that does not specialise rows; counts compilations."""

    def __init__(self):
        self.params = [Parameter(), Parameter(True), Parameter(), Parameter()]
        self.arg_names = ["x", "rows", "n", "eps", "TYPE", "WIDTH"]
        self.launches, self.options = [], []

    def __hash__(self):
        return id(self)

    def __eq__(self, other):
        return self is other

    def __getitem__(self, grid):
        def first(*arguments, **constants):
            self.options.append(constants)
            made = Compiled(self.launches)
            self.launches.append((made, grid, (*arguments, constants["TYPE"], constants["WIDTH"])))
            return made
        return first


@pytest.fixture
def call(monkeypatch):
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(torch._C, "_cuda_getCurrentRawStream", lambda device: 7, raising=False)
    kernel, memory = Kernel(), torch.zeros(64)

    def call(offset=0, rows=5, n=16, eps=1e-6, dtype=torch.float32, grid=(3,), **constants):
        given = {"TYPE": "t", "WIDTH": 8, "num_warps": 4, **constants}
        launching.launch(kernel, grid, memory[offset:].view(dtype), rows, n, eps, **given)
        return kernel
    return call


def test_what_the_code_does_not_depend_on_is_passed_on(call):
    call()
    kernel = call(rows=7, eps=1e-5, grid=(9, 2))
    assert len(kernel.options) == 1
    (first, _, _), (second, grid, arguments) = kernel.launches
    assert first is second and grid[:3] == (9, 2, 1) and arguments[1:] == (7, 16, 1e-5, "t", 8)


def test_addresses_are_passed_in_place_of_tensors(call):
    """The driver would otherwise look each of them up."""
    call()
    kernel = call(offset=4)
    assert kernel.launches[1][2][0] == kernel.launches[0][2][0].data_ptr() + 16


def test_a_profiler_sees_launches(call, monkeypatch):
    seen = triton.knobs.HookChain()
    monkeypatch.setattr(triton.knobs.runtime, "launch_enter_hook", seen)
    call()
    assert call().launches[1][2][0] != "watched"
    seen.add(print)
    assert call().launches[2][2][0] == "watched"


@pytest.mark.parametrize("change", [{"offset": 1}, {"n": 17}, {"rows": 2**31}, {"dtype": torch.int32}, {"WIDTH": 16}, {"num_warps": 8}])
def test_what_it_depends_on_compiles_another(call, change):
    call()
    assert len(call(**change).options) == 2
