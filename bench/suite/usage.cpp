// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/suite/options.hpp"

namespace detgemm::bench {

const char* const kUsage =
    R"(detgemm bench: detgemm beside the vendor's own library, one experiment for every backend

  --backend NAME     cpu, cuda or hip (default: the first of cuda, hip, cpu that can run)

What is measured: suites of a table of cases,
  --suite LIST       some of the suites (default: all)
  --cases FILE       a table of cases in place of bench/cases/cases.json as it was compiled in
  --suite cluster    K spread over GPUs of this host, one process each, beside the vendor's product
                     and NCCL's all-reduce and reduce-scatter; without a GPU over threads
  --ranks P          ... over that many (default: every GPU, or two threads)
  --quick            fewer cases and repetitions
  --m VALUES         tokens, in place of each suite's own
or cases of your own in place of them:
  --layers LIST      MODEL/LAYER or MODEL, such as llama3-8b/o,qwen3-32b
  --n VALUES         rows ...
  --k VALUES         ... and columns of the weights; every N with every K
  --m VALUES         tokens: M
  --draw COUNT       that many random pairs of a layer and an M, over the published models of the
                     table or over --layers, and from 1 to 8192 or from --m
  --kind LIST        forward, dA, dB (default: forward)
  --epilogue LIST    none, bias, beta (C is added), bias+relu, bias+gelu_tanh (default: none)
  --contract LIST    arms of the table such as chain,tree+stable, or contracts such as
                     hopper/fp16/fold:1024->fp16, with +stable behind where B is stable
                     (default: chain)
  --mode MODE        auto, stream, burst or settled (default: auto)
  --seed S           of everything that is drawn (default: 7)
VALUES is a list of numbers (1,64,65), of ranges LOW:HIGH:STEP (1:512:8) and of random numbers
random:LOW:HIGH:COUNT, uniform in the logarithm (random:1:8192:40).

Arms of a case:
  --variants LIST    one arm more for each kernel that can be forced: all, or names that may hold *
  --tuning FILE      one arm more, NAME@tuned, under a file that detgemm tune wrote
  --weight-read      an arm that reads the weights and does no arithmetic (few tokens, CUDA)
  --filter REGEX     only arms whose CASE/ARM it matches, for example 'llama3-8b/o/.*/m16/.*chain'
  --check-bits       recompute a part of every D and compare bits
  --no-batch         do not ask whether row 0 depends on the batch
  --repetitions N    samples of every arm
  --seconds S        budget: fewer repetitions, then fewer cases
  --cublaslt PATH    libcublasLt.so to load
  --nccl PATH        libnccl.so to load, for --suite cluster

Output:
  --json FILE        every number; bench/report turns files into a page
  --csv FILE         a line per arm
  --markdown FILE    a table
  --commit TEXT      recorded; default: git describe, else the commit that was compiled in
  --fact KEY=VALUE   recorded with the machine; may be repeated
  --list             print CASE/ARM of what would run, and run nothing
  --dry              print how many cases and about how many seconds, and run nothing

Times are those of the device. The arms of a case are timed in turn, A B .. B A, on operands that
step through more memory than twice the last cache.

Examples:
  detgemm bench --quick
  detgemm bench --backend cuda --json h200.json
  detgemm bench --backend cpu --suite cpu-sweep --m 1,16,256
  detgemm bench --n 4096 --k 14336 --m 1:512:8 --contract chain+stable,tree
  detgemm bench --draw 40 --seed 7
  NCCL_NVLS_ENABLE=0 detgemm bench --suite cluster --ranks 4 --json four.json
  detgemm bench --layers llama3-8b/o --m 16,512,4096 --variants all --check-bits

Exit codes: 0 measured; 1 failed, or bits were wrong; 2 asked wrongly; 3 nothing ran.
)";

const char* const kTuneUsage =
    R"(detgemm tune: time the kernels of a contract on this device, and write which ones to take

  --out FILE         the tuning file to write
  --layers LIST      MODEL/LAYER or MODEL, such as llama3-8b/o,qwen3-32b
  --n VALUES         rows ...
  --k VALUES         ... and columns of the weights; every N with every K
  --m VALUES         tokens: M (default: 1, 2, 4, multiples of 8 up to 512, eighths of an octave up
                     to 8192)
  --kind LIST        forward, dA, dB (default: forward)
  --contract LIST    as of detgemm bench (default: chain)
  --candidates N     kernels timed per problem beside the chosen one (6)
  --repetitions N    samples of each in the first look (5)
  --check-bits       recompute a part of every D and compare bits
  --seconds S        budget: later problems are left out
  --json FILE        every number
  --dry              print how many problems and about how many seconds, and run nothing

A file is loaded by an explicit call alone: detgemm::Tuning::load and PlanOptions::tuning in C++,
detgemm_tuning_load and detgemm_tuning_use in C, detgemm.use_tuning in Python, --tuning of detgemm
bench. No bit depends on it. It is for this device, this library and its kernels, and refused
elsewhere.

Examples:
  detgemm tune --layers llama3-8b --contract chain+stable --out llama3-8b.tuning
  detgemm tune --n 4096 --k 14336 --m 1:64 --contract "hopper/bf16/tree:512->bf16" --out down.tuning
  detgemm bench --layers llama3-8b/o --m 1,64,512 --contract chain+stable --tuning llama3-8b.tuning

Exit codes: 0 written; 1 failed, or bits were wrong; 2 asked wrongly; 3 nothing ran.
)";

const char* const kCalibrateUsage =
    R"(detgemm calibrate: measure what models of time read of a device, in about ten seconds

  --backend NAME     cpu, cuda or hip (default: the first of cuda, hip, cpu that can run)
  --json FILE        the numbers, for programs

Prints rates of memory and caches, rates and clocks of the multiply instruction after a rest and
under load, and what launches cost.

Exit codes: 0 measured; 1 failed; 2 asked wrongly; 3 nothing ran.
)";

}  // namespace detgemm::bench
