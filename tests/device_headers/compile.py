#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Compiles one kernel for every step in core/arithmetic/step.hpp, one that cuts groups and one of log-probabilities, for one architecture.

Exit status 77: the compiler is absent, with the reason on standard output.
"""
import argparse
import pathlib
import re
import subprocess
import sys

QUALIFIERS = """
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __forceinline__ inline __attribute__((always_inline))
"""

KERNEL = """
#include "core/contract/compute_element.hpp"
#include "core/contract/group_arguments.hpp"
#include "core/contract/log_leaves.hpp"
#include "core/contract/log_nodes.hpp"

__global__ void groups(detgemm::GroupedArguments p, detgemm::GemmArguments* cut) {
  for (long long i = 0; i < p.groups; ++i) cut[i] = detgemm::arguments_of_group(p, i);
}

__global__ void log_prob(detgemm::LogLeavesJob leaves, detgemm::LogGradientJob gradient, float* out) {
  detgemm::compute_leaves(leaves);
  detgemm::compute_gradient(gradient);
  detgemm::LogStack stack;
  stack.push(leaves.leaves[0], 0, 0);
  const detgemm::arithmetic::LogNode root = stack.root();
  const float lse = detgemm::arithmetic::log_sum_exp(root);
  out[0] = detgemm::arithmetic::log_probability(root, lse, out[1]);
  out[1] = detgemm::arithmetic::log_entropy(root, lse);
}

template <detgemm::Arithmetic A, detgemm::DType T>
__global__ void kernel(detgemm::GemmArguments g, const float* roots, long long count) {
  for (long long i = 0; i < g.m * g.n; ++i) {
    detgemm::compute_element<A, T>(g, i / g.n, i % g.n);
    detgemm::combine_element(g, i / g.n, i % g.n, count, [=](long long r) { return roots[r]; },
                             [=](long long r) { return static_cast<int>(r % 2); });
  }
}
"""


def source(steps, hip):
    lines = [QUALIFIERS if hip else "", KERNEL]
    lines += [f"template __global__ void kernel<detgemm::Arithmetic::{a}, detgemm::DType::{t}>("
              "detgemm::GemmArguments, const float*, long long);" for a, t in steps]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for option in ("--source", "--work", "--arch", "--compiler"):
        parser.add_argument(option, required=True)
    arguments = parser.parse_args()
    hip = arguments.arch.startswith("gfx")
    if not arguments.compiler or "NOTFOUND" in arguments.compiler:
        print(f"skipped: no compiler for {arguments.arch} was found "
              f"({'clang++' if hip else 'nvcc'})")
        sys.exit(77)

    root, work = pathlib.Path(arguments.source), pathlib.Path(arguments.work)
    steps = re.findall(r"^ *DETGEMM_STEP\((\w+), (\w+)\)$",
                       (root / "core/arithmetic/step.hpp").read_text(), re.M)
    code = work / f"every_step_{arguments.arch}.{'hip' if hip else 'cu'}"
    code.write_text(source(steps, hip))
    output = code.with_suffix(".s")
    if hip:
        flags = ["-x", "hip", f"--cuda-gpu-arch={arguments.arch}", "--cuda-device-only",
                 "-nogpuinc", "-nogpulib", "-O1", "-ffp-contract=off", "-Werror", "-S"]
        kernel_line = r"^\s*\.amdhsa_kernel "
    else:
        flags = [f"-arch={arguments.arch}", "--fmad=false", "-Werror", "all-warnings", "-ptx"]
        kernel_line = r"^\.visible \.entry "
    command = [arguments.compiler, "-std=c++20", *flags, "-I", str(root),
               "-I", str(root / "core/include"), str(code), "-o", str(output)]
    print(" ".join(command), flush=True)
    output.unlink(missing_ok=True)
    if subprocess.run(command, check=False).returncode != 0:
        sys.exit(f"the headers do not compile for {arguments.arch}")
    kernels = len(re.findall(kernel_line, output.read_text(), re.M))
    print(f"{len(steps)} steps, {kernels} kernels for {arguments.arch}")
    if kernels != len(steps) + 2 or not steps:
        sys.exit("every step must give one kernel, the groups one and log-probabilities one")


if __name__ == "__main__":
    main()
