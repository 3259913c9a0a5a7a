// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "backends/cuda/log_prob.hpp"

#include <algorithm>
#include <initializer_list>
#include <string>

#include "backends/cuda/devices.hpp"
#include "backends/gpu/address_rules.hpp"
#include "cuda/log_prob/launch.hpp"
#include "cuda/sm90/host/log_prob.hpp"

namespace detgemm::cuda {
namespace {

/// An array by the name that a sentence gives it; one that is null is not read.
struct Named {
  const char* what;
  const void* data;
};

/// The current device, on which the stream and all arrays must be.
Result<DeviceFacts> device_of(Stream stream, std::initializer_list<Named> arrays) {
  const auto device = current_device();
  if (!device) return device.status();
  if (device->major < 8) {
    return Status{Errc::unsupported, "cuda: device " + std::to_string(device->ordinal) + " (" +
                                         device->name + ") has compute capability " +
                                         device->capability() +
                                         ": log-probabilities need 8.0 or above"};
  }
  const auto on = gpu::handle<Cuda>(stream);
  if (Status s = gpu::check_stream<Cuda>(on, device->ordinal, "the current device is "); !s) {
    return s;
  }
  for (const Named& each : arrays) {
    if (each.data == nullptr) continue;
    if (Status s =
            gpu::check_array<Cuda>(each.what, each.data, device->ordinal, "the current device ");
        !s) {
      return s;
    }
  }
  return device;
}

Status said(cudaError_t error, const char* what) {
  return error == cudaSuccess ? Status{} : failed(what, error);
}

Status check_count(std::span<const LogShard> shards) {
  if (shards.size() <= log_prob::kMaxShards) return {};
  return {Errc::unsupported, "cuda: there are " + std::to_string(shards.size()) +
                                 " shards or chunks: at most " +
                                 std::to_string(log_prob::kMaxShards) + " join in one call"};
}

log_prob::LogitView view_of(const ConstMatrix& logits) {
  return {logits.data, logits.dtype, strides_of(logits, Op::none), logits.rows};
}

/// The product of a layer over the columns that exist.
GemmArguments product_of(const LogProbSpec& spec, const LogProbOperands& operands) {
  Operands arrays;
  arrays.a = operands.x;
  arrays.b = operands.w;
  arrays.bias = operands.bias;
  arrays.d.rows = operands.x.rows;
  return flatten(logits_product(spec), arrays);
}

class Engine final : public LogProbEngine {
 public:
  Status nodes(Stream stream, const ConstMatrix& logits, const LogProbRows& rows,
               const LogShard& shard, Workers) const override {
    const auto device = device_of(stream, {{"logits", logits.data},
                                           {"targets", rows.targets.data},
                                           {"scale", rows.scale},
                                           {"nodes", shard.nodes},
                                           {"target_logit", shard.target_logit}});
    if (!device) return device.status();
    return said(log_prob::nodes(view_of(logits), rows, shard, gpu::handle<Cuda>(stream)),
                "launching a kernel of nodes of logits");
  }

  Status merge(Stream stream, std::int64_t t, std::span<const LogShard> from, std::int64_t first,
               std::int64_t all, const LogShard& to, Workers) const override {
    if (Status s = check_count(from); !s) return s;
    const auto device = device_of(stream, {{"nodes", to.nodes}});
    if (!device) return device.status();
    return said(log_prob::merge(t, from, first, all, to, gpu::handle<Cuda>(stream)),
                "launching a kernel that merges nodes");
  }

  Status join(Stream stream, std::int64_t t, std::span<const LogShard> shards,
              const LogProbRows& rows, const LogProbOutputs& out, Workers) const override {
    if (Status s = check_count(shards); !s) return s;
    const auto device = device_of(stream, {{"targets", rows.targets.data},
                                           {"logp", out.logp},
                                           {"target_logit", out.target_logit},
                                           {"lse", out.lse},
                                           {"entropy", out.entropy},
                                           {"saved_k", out.saved_k},
                                           {"saved_r", out.saved_r}});
    if (!device) return device.status();
    for (const LogShard& shard : shards) {
      for (const void* data :
           {static_cast<const void*>(shard.nodes), static_cast<const void*>(shard.target_logit)}) {
        if (data == nullptr) continue;
        if (Status s =
                gpu::check_array<Cuda>("shards", data, device->ordinal, "the current device ");
            !s) {
          return s;
        }
      }
    }
    return said(log_prob::join(t, shards, rows, out, gpu::handle<Cuda>(stream)),
                "launching a kernel that joins nodes");
  }

  Status of_logits(Stream stream, const ConstMatrix& logits, std::int64_t vocabulary,
                   const LogProbRows& rows, const LogProbOutputs& out, void* memory,
                   Workers workers) const override {
    if (vocabulary > log_prob::kMaxWholeVocabulary || logits.rows > log_prob::kMaxWholeRows) {
      return LogProbEngine::of_logits(stream, logits, vocabulary, rows, out, memory, workers);
    }
    const auto device = device_of(stream, {{"logits", logits.data},
                                           {"targets", rows.targets.data},
                                           {"scale", rows.scale},
                                           {"logp", out.logp},
                                           {"target_logit", out.target_logit},
                                           {"lse", out.lse},
                                           {"entropy", out.entropy},
                                           {"saved_k", out.saved_k},
                                           {"saved_r", out.saved_r}});
    if (!device) return device.status();
    return said(log_prob::whole(view_of(logits), vocabulary, rows, out,
                                {device->sms, device->has_wgmma()}, gpu::handle<Cuda>(stream)),
                "launching a kernel of stored logits");
  }

  Status gradient(Stream stream, const ConstMatrix& logits, std::int64_t begin,
                  std::int64_t existing, const LogProbRows& rows, const LogProbUpstream& upstream,
                  float alpha, const Matrix& g, Workers) const override {
    const auto device = device_of(stream, {{"logits", logits.data},
                                           {"targets", rows.targets.data},
                                           {"scale", rows.scale},
                                           {"saved_k", upstream.saved_k},
                                           {"saved_r", upstream.saved_r},
                                           {"d_logp", upstream.d_logp},
                                           {"d_lse", upstream.d_lse},
                                           {"d_entropy", upstream.d_entropy},
                                           {"g", g.data}});
    if (!device) return device.status();
    log_prob::GradientJob job;
    job.logits = view_of(logits);
    job.begin = begin;
    job.existing = existing;
    job.rows = rows;
    job.upstream = upstream;
    job.alpha = alpha;
    job.g = static_cast<std::uint16_t*>(g.data);
    job.to = strides_of(g, Op::none);
    job.columns = g.cols;
    return said(log_prob::gradient(job, {gpu::handle<Cuda>(stream), device->has_wgmma()}),
                "launching a kernel of gradients of logits");
  }

  std::size_t layer_bytes(const LogProbSpec& spec, std::int64_t max_t) const override {
    return chains(spec) ? sm90::log_workspace(max_t, spec.n, spec.entropy) : 0;
  }

  bool takes_layer(const LogProbSpec& spec, const LogProbOperands& operands) const override {
    return chains(spec) && sm90::takes_log(product_of(spec, operands));
  }

  Status layer(Stream stream, const LogProbSpec& spec, const PlanOptions& options,
               const LogProbOperands& operands, const LogProbOutputs& out,
               Workspace workspace) const override {
    const auto device = device_of(stream, {{"x", operands.x.data},
                                           {"w", operands.w.data},
                                           {"bias", operands.bias.data},
                                           {"targets", operands.rows.targets.data},
                                           {"scale", operands.rows.scale},
                                           {"logp", out.logp},
                                           {"target_logit", out.target_logit},
                                           {"lse", out.lse},
                                           {"entropy", out.entropy},
                                           {"saved_k", out.saved_k},
                                           {"saved_r", out.saved_r},
                                           {"workspace", workspace.data}});
    if (!device) return device.status();
    sm90::LogLayer layer;
    layer.g = product_of(spec, operands);
    layer.w_is_stable = options.stable == Stable::b && !options.serial_launch;
    layer.rows = operands.rows;
    layer.out = out;
    sm90::LogLaunch how;
    how.stream = gpu::handle<Cuda>(stream);
    how.sms = options.max_workers > 0 ? std::min(options.max_workers, device->sms) : device->sms;
    how.overlap = !options.serial_launch;
    return said(sm90::run_log(layer, workspace.data, how),
                "launching the kernels of a layer's log-probabilities");
  }

 private:
  /// Whether the current device has the kernels of a layer's contract.
  static bool chains(const LogProbSpec& spec) {
    const Contract& c = spec.contract;
    if (c.arithmetic != Arithmetic::hopper || c.reduction.kind != ReductionKind::chain ||
        c.input != DType::bf16) {
      return false;
    }
    const auto device = current_device();
    return device && device->has_wgmma();
  }
};

}  // namespace

const LogProbEngine& log_prob_engine() noexcept {
  static const Engine engine;
  return engine;
}

}  // namespace detgemm::cuda
