// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// mpi_main [FAULT]: ranks that are processes. Without a fault every rank compares the products of
// many samples with those of one rank; with one, rank 0 prints what it was told about it.
//
//   messages  no fault: the samples without windows, as where ranks share no memory
//   size      rank 1 calls with another m            late    rank 2 does not come for a while
//   contract  rank 1 has another contract            dead    rank 2 is stopped before the call
//   link      somebody takes rank 2 off the network  abort   rank 1 gives up
//   refusal   rank 2 asks for a kernel that is none  absent  rank 2 makes no communicator
//   order     rank 1 calls the other one of its plans, and calls are checked
//   window    rank 2 is stopped before a call through windows, which leaves NaN in D
//   killed    rank 2 is killed in the middle of the call, between its roots and its rows

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "detgemm/mpi.hpp"
#include "tests/cluster/messages.hpp"

namespace detgemm::cluster {
namespace {

using namespace std::chrono_literals;

int fail(int rank, const std::string& why) {
  std::printf("rank %d: %s\n", rank, why.c_str());
  std::fflush(stdout);
  MPI_Abort(MPI_COMM_WORLD, 1);
  return 1;
}

/// Is killed in its second step.
class Killed final : public Recorder {
 public:
  using Recorder::Recorder;
  Status exchange(Stream stream, std::span<const Send> sends, std::span<const Receive> receives,
                  std::chrono::milliseconds patience) override {
    if (steps.size() == 1) std::raise(SIGKILL);
    return Recorder::exchange(stream, sends, receives, patience);
  }
};

int compare(const Communicator& communicator, bool windows) {
  int samples = 0;
  for (const char* contract : {"ieee_fma/bf16/tree:16->fp32", "hopper/bf16/tree:64->fp32"}) {
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
      const Sample sample(contract, seed);
      RowParallelOptions options;
      options.output = seed % 2 == 0 ? Placement::replicated : Placement::rows;
      // By messages, and through windows of shared memory.
      const std::array through_windows{Algorithm::automatic, Algorithm::two_shot, Algorithm::push,
                                       Algorithm::one_shot};
      const std::array by_messages{Algorithm::automatic, Algorithm::scatter, Algorithm::gather,
                                   Algorithm::scatter};
      options.algorithm = (windows ? through_windows : by_messages)[seed / 2 % 4];
      // These two give every rank all rows.
      if (options.output == Placement::rows) {
        if (options.algorithm == Algorithm::one_shot) options.algorithm = Algorithm::push;
        if (options.algorithm == Algorithm::gather) options.algorithm = Algorithm::scatter;
      }
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
  RowParallelOptions options;
  if (fault == "window") options.algorithm = Algorithm::two_shot;
  if (fault == "refusal" && rank == 2) options.plan.variant = "fastest";
  auto plan = RowParallelPlan::create(communicator, skeleton_backend(), spec, options);
  if (!plan) return plan.status();
  if (fault == "order") {
    const auto second = RowParallelPlan::create(communicator, skeleton_backend(), spec);
    if (rank == 1) plan = second;
  }
  if (fault == "late" && rank == 2) std::this_thread::sleep_for(3s);
  if ((fault == "dead" || fault == "window") && rank == 2)
    std::raise(SIGSTOP);  // neither there nor gone
  if (fault == "link") {
    if (rank == 0) std::printf("the plan is made: now take the link down\n");
    std::fflush(stdout);
    std::this_thread::sleep_for(6s);
  }
  if (fault == "abort" && rank == 1) communicator.abort();
  // 8 rows for each of three ranks are enough for roots and rows in two steps.
  const std::int64_t m = fault == "killed" ? 24 : fault == "size" && rank == 1 ? 3 : 4;
  const KRange k = plan->k_range();
  const std::vector<std::uint16_t> zeros(10000);
  std::vector<float> d(static_cast<std::size_t>(m * spec.n));
  const Scratch scratch(*plan->workspace_bytes(m));
  const void* data = zeros.data();
  const Status ran = plan->run({}, m,
                               {row_major(data, m, k.end - k.begin, DType::bf16),
                                row_major(data, k.end - k.begin, spec.n, DType::bf16),
                                row_major(d.data(), m, spec.n, DType::fp32)},
                               scratch);
  const bool all_nan = std::all_of(d.begin(), d.end(), [](float x) { return x != x; });
  if (fault == "window" && !all_nan) return {Errc::internal, "D holds plausible numbers"};
  return ran;
}

int run(const std::string& word) {
  const bool windows = word != "messages";
  const std::string fault = windows ? word : "";
  auto transport = mpi(MPI_COMM_WORLD);
  if (!transport) return fail(-1, transport.status().message());
  Options options;
  options.patience = fault.empty() ? 30s : 500ms;
  options.check_calls = fault == "order";
  options.window_bytes = (fault.empty() && windows) || fault == "window" ? std::size_t{1} << 20 : 0;
  const bool last = (*transport)->rank() == 2;
  if (fault == "absent" && last) {
    std::this_thread::sleep_for(3s);  // until the launcher ends it
    return 0;
  }
  if (fault == "killed" && last) {
    transport = std::shared_ptr<Transport>(std::make_shared<Killed>(*transport));
  }
  const auto communicator = Communicator::create(*transport, options);
  if (fault == "absent") {
    const Status& told = communicator.status();
    if ((*transport)->rank() == 0) {
      std::printf("%s: %s\n", told.code() == Errc::peer ? "as expected" : "unexpected",
                  told.message().c_str());
      std::fflush(stdout);
      std::this_thread::sleep_for(300ms);
      MPI_Abort(MPI_COMM_WORLD, 0);
    }
    std::this_thread::sleep_for(3s);
    return 0;
  }
  if (!communicator) return fail((*transport)->rank(), communicator.status().message());
  if (fault.empty()) return compare(*communicator, windows);
  const Status told = provoke(*communicator, fault);
  // What all ranks are told when they agree breaks nothing.
  const bool agreed = fault == "contract" || fault == "refusal" || fault == "order";
  if (communicator->rank() == 0) {
    const bool expected = agreed ? !told && told.code() != Errc::peer : told.code() == Errc::peer;
    std::printf("%s: %s\n", expected ? "as expected" : "unexpected", told.message().c_str());
    std::fflush(stdout);
  }
  if (agreed) return 0;
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
