#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""build_programs.py [--samples CHECKOUT] [--ggml CHECKOUT] [--nvcc nvcc] [--jobs N] --out FOLDER: builds programs
that nobody here wrote, for `run.py --built FOLDER`.

--samples is a checkout of github.com/NVIDIA/CUDALibrarySamples. Of it every sample of a matrix product is built,
of cuBLAS and of cuBLASLt, for the GPU's architecture 9.0. --ggml is a checkout of github.com/ggml-org/ggml: its
CUDA backend without flash attention, its test-backend-ops, and rows_ggml.cpp beside it. A program that does not
compile is named, and the exit code is 1; the others are there.
"""
import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
# gemm_grading has several programs and a build of its own, and asks for fp64.
LEFT_OUT = ("Common", "gemm_grading")
PRODUCTS = ("cuBLAS/Level-2/gemv", "cuBLAS/Level-3/*", "cuBLAS/Extensions/Gemm*", "cuBLAS/Emulation/*", "cuBLASLt/*")


def sources_of(checkout):
    """Name of each sample -> its sources. cuBLASLt's samples share helpers."""
    samples = {}
    for pattern in PRODUCTS:
        for folder in sorted(checkout.glob(pattern)):
            files = sorted([*folder.glob("*.cu"), *folder.glob("*.cpp")])
            if not files or folder.name in LEFT_OUT:
                continue
            if folder.parent.name == "cuBLASLt":
                files.append(folder.parent / "Common" / "helpers.cpp")
            samples[f"{folder.parent.name}.{folder.name}"] = files
    return samples


def build_sample(nvcc, checkout, name, files, out):
    words = [nvcc, "-std=c++17", "-O1", "-arch=sm_90", f"-I{checkout / 'cuBLAS/utils'}", f"-I{checkout / 'cuBLASLt/Common'}",
             *files, "-o", out / name, "-lcublas", "-lcublasLt", "-lcuda"]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    return name, done.returncode, done.stderr


def build_samples(asked, out):
    out.mkdir(parents=True, exist_ok=True)
    samples = sources_of(asked.samples)
    if not samples:
        raise SystemExit(f"build_programs.py: --samples is {asked.samples}: it has no cuBLAS samples")
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(asked.jobs) as pool:
        builds = [pool.submit(build_sample, asked.nvcc, asked.samples, name, files, out) for name, files in samples.items()]
        for build in concurrent.futures.as_completed(builds):
            name, code, err = build.result()
            print(f"{name}: {'built' if code == 0 else 'does not compile: ' + err[-500:]}", flush=True)
            bad += code != 0
    return bad


def build_ggml(asked, build):
    """ggml puts its programs into the folder bin of its build; its libraries go there too."""
    folder = build.resolve() / "bin"
    steps = [
        ["cmake", "-S", asked.ggml, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DGGML_CUDA=ON", "-DGGML_CUDA_FA=OFF",
         "-DGGML_CUDA_NO_VMM=ON", "-DGGML_CUDA_NCCL=OFF", "-DGGML_NATIVE=OFF", "-DBUILD_SHARED_LIBS=ON", "-DGGML_BUILD_EXAMPLES=OFF",
         "-DCMAKE_CUDA_ARCHITECTURES=90", f"-DCMAKE_CUDA_COMPILER={asked.nvcc}", "-DCMAKE_BUILD_RPATH_USE_ORIGIN=ON",
         f"-DCMAKE_LIBRARY_OUTPUT_DIRECTORY={folder}"],
        ["cmake", "--build", build, "-j", asked.jobs, "--target", "test-backend-ops"],
        ["c++", "-std=c++17", "-O1", f"-I{asked.ggml / 'include'}", HERE / "rows_ggml.cpp", "-o", folder / "rows_ggml", f"-L{folder}",
         "-lggml", "-lggml-base", "-Wl,-rpath,$ORIGIN", "-Wl,--unresolved-symbols=ignore-in-shared-libs"],
    ]
    for words in steps:
        done = subprocess.run([str(word) for word in words], check=False)
        if done.returncode != 0:
            print(f"ggml: {' '.join(map(str, words[:3]))} ... exits with {done.returncode}")
            return 1
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--samples", type=pathlib.Path)
    parser.add_argument("--ggml", type=pathlib.Path)
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--out", type=pathlib.Path, required=True)
    asked = parser.parse_args()
    if not asked.samples and not asked.ggml:
        parser.error("nothing is asked for: --samples CHECKOUT, --ggml CHECKOUT, or both")
    bad = 0
    if asked.samples:
        bad += build_samples(asked, asked.out / "samples")
    if asked.ggml:
        bad += build_ggml(asked, asked.out / "ggml")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
