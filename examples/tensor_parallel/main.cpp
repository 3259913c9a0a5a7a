// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// One layer whose K is spread over the ranks of an MPI job. Every rank count prints the same
// digest:
//
//   mpirun -n 1 tensor_parallel; mpirun -n 3 tensor_parallel; mpirun -n 4 tensor_parallel

#include <cstdint>
#include <cstdio>
#include <vector>

#include "detgemm/detgemm.hpp"
#include "detgemm/digest.hpp"
#include "detgemm/mpi.hpp"

namespace {

using namespace detgemm;

constexpr std::int64_t kM = 40, kN = 96, kK = 1000;

/// Element i of an array, the same on every rank: a bf16 number between -2 and 2.
std::uint16_t element(std::uint64_t i) {
  const std::uint64_t bits = (i + 1) * 0x9e3779b97f4a7c15U;
  return static_cast<std::uint16_t>(((bits >> 33) & 0x80ffU) | 0x3f00U);
}

int refused(const char* what, const Status& status) {
  std::fprintf(stderr, "tensor_parallel: %s: %s\n", what, status.message().c_str());
  MPI_Abort(MPI_COMM_WORLD, 1);
  return 1;
}

int run() {
  const auto transport = cluster::mpi(MPI_COMM_WORLD);
  if (!transport) return refused("mpi", transport.status());
  const auto ranks = cluster::Communicator::create(*transport);
  if (!ranks) return refused("communicator", ranks.status());
  const auto backend = find_backend("reference");
  if (!backend) return refused("backend", backend.status());

  GemmSpec layer;
  layer.n = kN;
  layer.k = kK;
  layer.contract = *Contract::parse("hopper/bf16/tree:64->bf16");
  const auto plan = cluster::RowParallelPlan::create(*ranks, **backend, layer);
  if (!plan) return refused("plan", plan.status());

  // This rank's columns of A and rows of B.
  const KRange mine = plan->k_range();
  const std::int64_t depth = mine.end - mine.begin;
  std::vector<std::uint16_t> a, b, d(static_cast<std::size_t>(kM * kN));
  for (std::int64_t m = 0; m < kM; ++m) {
    for (std::int64_t k = mine.begin; k < mine.end; ++k) {
      a.push_back(element(static_cast<std::uint64_t>(m * kK + k)));
    }
  }
  for (std::int64_t i = mine.begin * kN; i < mine.end * kN; ++i) {
    b.push_back(element(static_cast<std::uint64_t>(1'000'000 + i)));
  }
  const std::size_t bytes = *plan->workspace_bytes(kM);
  const auto scratch = host_device().allocate(bytes);
  if (!scratch) return refused("workspace", scratch.status());
  const Operands local{row_major(static_cast<const void*>(a.data()), kM, depth, DType::bf16),
                       row_major(static_cast<const void*>(b.data()), depth, kN, DType::bf16),
                       row_major(d.data(), kM, kN, DType::bf16)};
  const Status ran = plan->run(Stream{}, kM, local, {*scratch, bytes});
  host_device().release(*scratch);
  if (!ran) return refused("run", ran);
  std::printf("rank %d of %d: products [%lld, %lld), digest of D %s\n", ranks->rank(),
              ranks->size(), static_cast<long long>(mine.begin), static_cast<long long>(mine.end),
              hex(digest_bytes(d.data(), d.size() * sizeof d[0])).c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  int code = 1;
  {
    const auto runtime = Runtime::start();
    code = runtime ? run() : refused("runtime", runtime.status());
  }
  MPI_Finalize();
  return code;
}
