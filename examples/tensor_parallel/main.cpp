// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// One layer whose K is spread over the ranks of an MPI job, which exchange by NCCL where every rank
// has a GPU (engine.hpp), and else by MPI. Every rank count prints the same digest, GPU or not:
//
//   mpirun -n 1 tensor_parallel; mpirun -n 3 tensor_parallel; mpirun -n 4 tensor_parallel

#include <cstdint>
#include <cstdio>
#include <vector>

#include "detgemm/detgemm.hpp"
#include "detgemm/digest.hpp"
#include "engine.hpp"

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

/// Memory where the engine multiplies, with what the host gives it.
class Array {
 public:
  Array(Device& device, const void* data, std::size_t bytes) : device_(device) {
    const auto memory = device.allocate(bytes);
    if (memory) data_ = *memory;
    status = memory ? device.to_device(data_, data, bytes) : memory.status();
  }
  Array(const Array&) = delete;
  ~Array() { device_.release(data_); }
  void* data() const { return data_; }
  Status status;

 private:
  Device& device_;
  void* data_ = nullptr;
};

int run() {
  Engine engine;
  if (const Status chosen = choose(engine); !chosen) return refused("engine", chosen);
  const auto ranks = cluster::Communicator::create(engine.transport);
  if (!ranks) return refused("communicator", ranks.status());

  GemmSpec layer;
  layer.n = kN;
  layer.k = kK;
  layer.contract = *Contract::parse("hopper/bf16/tree:64->bf16");
  const auto plan = cluster::RowParallelPlan::create(*ranks, *engine.backend, layer);
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
  Device& device = engine.backend->device();
  const std::size_t bytes = *plan->workspace_bytes(kM);
  const std::vector<std::byte> nothing(bytes);
  const Array at_a(device, a.data(), a.size() * 2), at_b(device, b.data(), b.size() * 2),
      at_d(device, d.data(), d.size() * 2), scratch(device, nothing.data(), bytes);
  for (const Array* array : {&at_a, &at_b, &at_d, &scratch}) {
    if (!array->status) return refused("memory", array->status);
  }
  const auto stream = device.create_stream();
  if (!stream) return refused("stream", stream.status());
  const Operands local{row_major(static_cast<const void*>(at_a.data()), kM, depth, DType::bf16),
                       row_major(static_cast<const void*>(at_b.data()), depth, kN, DType::bf16),
                       row_major(at_d.data(), kM, kN, DType::bf16)};
  Status ran = plan->run(*stream, kM, local, {scratch.data(), bytes});
  if (ran) ran = device.synchronize(*stream);
  if (ran) ran = device.to_host(d.data(), at_d.data(), d.size() * 2);
  device.destroy_stream(*stream);
  if (!ran) return refused("run", ran);
  std::printf("%s: products [%lld, %lld), digest of D %s\n", ranks->describe().c_str(),
              static_cast<long long>(mine.begin), static_cast<long long>(mine.end),
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
