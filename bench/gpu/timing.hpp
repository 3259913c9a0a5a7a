// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_runtime_api.h>

#include <vector>

#include "bench/gpu/arm.hpp"

namespace detgemm::bench {

struct Stats {
  double median = 0, p10 = 0, p90 = 0;
  int samples = 0;
};
Stats summarise(std::vector<double> values);

/// `calls` calls of one arm, captured once.
class CallGraph {
 public:
  CallGraph(cudaStream_t stream, const Arm& arm, int calls);
  ~CallGraph() { cudaGraphExecDestroy(graph_); }
  CallGraph(const CallGraph&) = delete;
  CallGraph& operator=(const CallGraph&) = delete;
  void launch(cudaStream_t stream) const;
  int calls() const { return calls_; }

 private:
  cudaGraphExec_t graph_ = nullptr;
  int calls_;
};

using Graphs = std::vector<const CallGraph*>;
/// Microseconds a call: [graph][sample].
using Samples = std::vector<std::vector<double>>;

/// The arms in turn, A B .. then .. B A, `idle_ms` of rest before each sample of one graph launch.
Samples time_samples(cudaStream_t stream, const Graphs& graphs, int repetitions, double idle_ms);

/// After `soak_s` of load and without a gap: blocks of `block_ms`, A B .. then .. B A, of which the
/// first third is not counted. `us` guesses the time of a call of each arm.
Samples time_settled(cudaStream_t stream, const Graphs& graphs, const std::vector<double>& us,
                     int repetitions, double soak_s, double block_ms);

/// A quick figure for one arm outside a graph, to decide how many calls a graph holds.
double time_roughly(cudaStream_t stream, const Arm& arm);

}  // namespace detgemm::bench
