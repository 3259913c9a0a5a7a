# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Processes of their own: how the HIP runtime is found, and runtimes that take less than the usual one does."""
import multiprocessing
import os
import pathlib
import shutil
import tempfile

HEAD = """
import ctypes, os, pathlib, sys
sys.path.insert(0, {here!r})
import torch, fake_rocm
import detgemm
CHAIN, FOLD = "cdna3/bf16/chain->bf16", "cdna3/bf16/fold:64->fp32"
def refused(*call):
    try:
        call[0](*call[1:])
    except Exception as error:
        return str(error)
    return "nothing was refused"
a = torch.ones(4, 64, dtype=torch.bfloat16)
"""
# Processes begin with PyTorch and nothing else, which is loaded once for all of them.
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["torch", "torch._dynamo"])


def execute(code, environment, said):
    for stream in (1, 2):
        os.dup2(os.open(said, os.O_WRONLY | os.O_CREAT | os.O_APPEND), stream)
    os.environ.update(environment)
    exec(compile(code, "a process of its own", "exec"), {})


def run(body, **environment):
    with tempfile.TemporaryDirectory() as folder:
        said = pathlib.Path(folder) / "said"
        head = HEAD.format(here=str(pathlib.Path(__file__).parent))
        child = PROCESSES.Process(target=execute, args=(head + body, {**os.environ, **environment}, str(said)))
        child.start()
        child.join(300)
        if child.exitcode is None:
            child.kill()
            child.join()
        text = said.read_text(encoding="utf-8")
        assert child.exitcode == 0, text
        return text


def test_without_the_library_of_rocm_it_is_cuda(tmp_path):
    """The planted fault of a platform that is not asked: nothing computes HIP's tensors as CUDA's."""
    stub = tmp_path / "libanother.so"
    shutil.copy(os.environ["DETGEMM_ROCM_STUB"], stub)
    data = stub.read_bytes()
    assert b"libtorch_hip.so\0" in data
    stub.write_bytes(data.replace(b"libtorch_hip.so\0", b"libanother.so\0\0\0"))
    said = run("""
rocm = fake_rocm.Rocm()
import detgemm.torch as dt
print(refused(dt.gemm, rocm.put(a), rocm.put(a).t(), CHAIN))
""", DETGEMM_ROCM_STUB=str(stub))
    assert "(HIP)" not in said and ("PyTorch could not name its current stream" in said or "neither libtorch_cuda" in said), said


def test_runtimes_that_come_late_and_twice(tmp_path):
    """A failed look-up is not kept; DETGEMM_HIP_RUNTIME names the file; a second runtime is refused with both paths."""
    second = tmp_path / "libamdhip64.so.6"
    shutil.copy(os.environ["DETGEMM_ROCM_RUNTIME"], second)
    said = run("""
rocm = fake_rocm.Rocm(late=True)
import detgemm.torch as dt
print("first:", detgemm.info()["backends"]["hip"])
os.environ["DETGEMM_HIP_RUNTIME"] = "/nowhere/libamdhip64.so.7"
print("named:", detgemm.info()["backends"]["hip"])
os.environ["DETGEMM_HIP_RUNTIME"] = os.environ["DETGEMM_ROCM_RUNTIME"]
print("found:", detgemm.info()["backends"]["hip"])
rocm.load_runtime()
x = rocm.put(a)
assert dt.same_bits(fake_rocm.on_cpu(dt.gemm(x, x.t(), CHAIN)), dt.gemm(a, a.t(), CHAIN))
other = ctypes.CDLL(os.environ["SECOND"])
print("twice:", refused(dt.gemm, x, x.t(), FOLD))
print("twice:", detgemm.info()["backends"]["hip"])
""", SECOND=str(second))
    lines = dict(line.split(": ", 1) for line in said.splitlines() if ": " in line)
    assert lines["first"].startswith("hip: no HIP runtime was found on this machine"), said
    assert lines["named"] == 'hip: DETGEMM_HIP_RUNTIME is "/nowhere/libamdhip64.so.7": there is no such file', said
    assert lines["found"] == "available", said
    twice = [line for line in said.splitlines() if line.startswith("twice: ")]
    assert len(twice) == 2 and all("two HIP runtimes" in line and str(second) in line and
                                   os.path.realpath(os.environ["DETGEMM_ROCM_RUNTIME"]) in line for line in twice), said


def test_a_strict_runtime():
    """HIP 7 leaves streams unchecked, may refuse to load modules in a capture, and may know memory by single attributes."""
    said = run("""
rocm = fake_rocm.Rocm()
import detgemm.torch as dt
x = rocm.put(a)
def capture():
    with rocm.captured(rocm.stream()) as launch:
        result = dt.gemm(x, x.t(), FOLD)
    launch[0]()
    return result
print("early:", refused(capture))
dt.gemm(x, x.t(), CHAIN)
assert dt.same_bits(fake_rocm.on_cpu(capture()), dt.gemm(a, a.t(), FOLD))
dead = rocm.stream()
rocm.hip("StreamDestroy", dead)
rocm.use_stream(dead)
print("dead:", refused(dt.gemm, x, x.t(), CHAIN))
""", GCN_STRICT="streams loads pointers")
    assert "by its first call: make one before a capture" in said.split("early:")[1].splitlines()[0], said
    assert "hipErrorContextIsDestroyed" in said.split("dead:")[1], said


def test_a_stream_of_another_device():
    said = run("""
rocm = fake_rocm.Rocm()
import detgemm.torch as dt
x = rocm.put(a)
rocm.use_stream(rocm.stream())
print("refused:", refused(dt.gemm, x, x.t(), CHAIN))
""", GCN_STRICT="elsewhere")
    assert "device 1" in said.split("refused:")[1], said


def test_the_emulator_is_what_computes():
    """Without the code of the kernels nothing is computed: the bits above are those of the executed text."""
    said = run("""
rocm = fake_rocm.Rocm()
import detgemm.torch as dt
print("refused:", refused(dt.gemm, rocm.put(a), rocm.put(a).t(), CHAIN))
""", GCN_CODE="/nowhere")
    assert "loading the kernels for gfx942 on device 0" in said, said
