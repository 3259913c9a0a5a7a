// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// mpi_main [FAULT]: ranks that are processes. Without a fault every rank compares the products of
// many samples with those of one rank; with one, rank 0 prints what it was told about it.
//
//   size      rank 1 calls with another m            late   rank 2 does not come for a while
//   contract  rank 1 has another contract            dead   rank 2 is stopped in the middle
//   link      somebody takes rank 2 off the network  abort  rank 1 gives up
//   killed    rank 2 is killed

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "detgemm/mpi.hpp"
#include "tests/cluster/ranks.hpp"

namespace detgemm::cluster {
namespace {

using namespace std::chrono_literals;

int fail(int rank, const std::string& why) {
  std::printf("rank %d: %s\n", rank, why.c_str());
  std::fflush(stdout);
  MPI_Abort(MPI_COMM_WORLD, 1);
  return 1;
}

int compare(const Communicator& communicator) {
  int samples = 0;
  for (const char* contract : {"ieee_fma/bf16/tree:16->fp32", "hopper/bf16/tree:64->fp32"}) {
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
      const Sample sample(contract, seed);
      RowParallelOptions options;
      options.output = seed % 2 == 0 ? Placement::replicated : Placement::rows;
      const std::string wrong = run_sample(communicator, sample, options);
      if (!wrong.empty()) {
        return fail(communicator.rank(), wrong + " in seed " + std::to_string(seed));
      }
      ++samples;
    }
  }
  if (communicator.rank() == 0) {
    std::printf("%s: %d samples equal on %d ranks\n", communicator.describe().c_str(), samples,
                communicator.size());
  }
  return 0;
}

/// What rank 0 is told when another rank misbehaves.
Status provoke(const Communicator& communicator, const std::string& fault) {
  const int rank = communicator.rank();
  GemmSpec spec;
  spec.n = 8;
  spec.k = 128;
  spec.contract = *Contract::parse("ieee_fma/bf16/tree:16->fp32");
  if (fault == "contract" && rank == 1) spec.contract.reduction.leaf_k = 32;
  const auto plan = RowParallelPlan::create(communicator, skeleton_backend(), spec);
  if (!plan) return plan.status();
  if (fault == "late" && rank == 2) std::this_thread::sleep_for(3s);
  if (fault == "dead" && rank == 2) std::raise(SIGSTOP);  // neither there nor gone
  if (fault == "link") std::this_thread::sleep_for(6s);
  if (fault == "abort" && rank == 1) communicator.abort();
  if (fault == "killed" && rank == 2) std::raise(SIGKILL);
  const std::int64_t m = fault == "size" && rank == 1 ? 3 : 4;
  const KRange k = plan->k_range();
  const std::vector<std::uint16_t> zeros(10000);
  std::vector<float> d(static_cast<std::size_t>(m * spec.n));
  const Scratch scratch(*plan->workspace_bytes(m));
  const void* data = zeros.data();
  return plan->run({}, m,
                   {row_major(data, m, k.end - k.begin, DType::bf16),
                    row_major(data, k.end - k.begin, spec.n, DType::bf16),
                    row_major(d.data(), m, spec.n, DType::fp32)},
                   scratch);
}

int run(const std::string& fault) {
  auto transport = mpi(MPI_COMM_WORLD);
  if (!transport) return fail(-1, transport.status().message());
  Options options;
  options.patience = fault.empty() ? 30s : 500ms;
  const auto communicator = Communicator::create(*transport, options);
  if (!communicator) return fail((*transport)->rank(), communicator.status().message());
  if (fault.empty()) return compare(*communicator);
  const Status told = provoke(*communicator, fault);
  if (communicator->rank() == 0) {
    const bool expected =
        fault == "contract" ? told.code() == Errc::invalid_argument : told.code() == Errc::peer;
    std::printf("%s: %s\n", expected ? "as expected" : "unexpected", told.message().c_str());
    std::fflush(stdout);
  }
  if (fault == "contract") return 0;
  // A rank is missing, so MPI_Finalize would wait for it.
  std::this_thread::sleep_for(1s);
  std::fflush(stdout);
  MPI_Abort(MPI_COMM_WORLD, 0);
  return 0;
}

}  // namespace
}  // namespace detgemm::cluster

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  const int code = detgemm::cluster::run(argc > 1 ? argv[1] : "");
  MPI_Finalize();
  return code;
}
