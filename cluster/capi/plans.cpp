// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include "cluster/capi/handles.hpp"
#include "core/capi/descriptors.hpp"
#include "core/capi/handles.hpp"
#include "core/capi/operands.hpp"
#include "core/capi/run_info.hpp"
#include "core/capi/text.hpp"

using namespace detgemm;
using namespace detgemm::capi;

namespace detgemm::capi {
template <>
struct Descriptor<detgemm_cluster_options_t> {
  static constexpr std::size_t min_size = offsetof(detgemm_cluster_options_t, chunks);
};
}  // namespace detgemm::capi

DETGEMM_STRUCT(cluster_options, options)

namespace {

/// What the three create functions have in common, read and checked.
struct Request {
  GemmSpec spec;
  detgemm_cluster_options_t options;
  PlanOptions plan;
};

Result<Request> request_of(const detgemm_gemm_spec_t* spec,
                           const detgemm_cluster_options_t* options) {
  Request request{};
  auto problem = spec_of("spec", spec);
  if (!problem) return problem.status();
  request.spec = *problem;
  request.options = defaults<detgemm_cluster_options_t>();
  if (options != nullptr) {
    auto c = read("options", options);
    if (!c) return c.status();
    request.options = *c;
  }
  auto plan = plan_options_of("options.plan", request.options.plan);
  if (!plan) return plan.status();
  request.plan = *plan;
  return request;
}

Result<cluster::Shares> shares_of(const Request& request, int ranks) {
  const GemmSpec& spec = request.spec;
  if (request.options.k_cuts == nullptr) {
    return cluster::Shares::even(spec.contract, spec.k, ranks);
  }
  std::vector<KRange> ranges;
  for (int r = 0; r < ranks; ++r) {
    ranges.push_back({request.options.k_cuts[r], request.options.k_cuts[r + 1]});
  }
  return cluster::Shares::of(spec.contract, spec.k, ranges);
}

/// What a rank's own structs break is its own refusal, as if it had not called.
template <class Make>
detgemm_status_t create(const detgemm_communicator_t* communicator,
                        const detgemm_backend_t* backend, const detgemm_gemm_spec_t* spec,
                        const detgemm_cluster_options_t* options, detgemm_cluster_plan_t** plan,
                        Make&& make) {
  return guarded([&]() -> Status {
    if (Status s = need("plan", plan); !s) return s;
    *plan = nullptr;
    if (Status s = check(communicator); !s) return s;
    if (Status s = check(backend); !s) return s;
    const auto request = request_of(spec, options);
    if (!request) return request.status();
    const cluster::Communicator& ranks = communicator->communicator;
    auto made = std::make_unique<detgemm_cluster_plan_t>(request->spec, ranks.rank());
    if (Status s = make(*made, ranks, backend_of(backend), *request); !s) return s;
    *plan = made.release();
    return {};
  });
}

Status check_sum(const detgemm_cluster_plan_t* plan) {
  if (plan->sum) return {};
  return invalid("plan is not a sum of roots: it must be a result of detgemm_tree_sum_create");
}

/// The caller's structs are read before anything is written; `info` is filled in last.
template <class Body>
detgemm_status_t launch(const detgemm_cluster_plan_t* plan, const detgemm_stream_t* stream,
                        const detgemm_operands_t* operands, Inputs inputs, detgemm_run_info_t* info,
                        Body&& body) {
  return capi::launch([&] { return check(plan); }, [&] { return plan->spec; }, stream, operands,
                      inputs, info, body);
}

Status no_nodes() { return invalid("plan spreads N: only a plan that spreads K has nodes"); }

}  // namespace

detgemm_status_t detgemm_rows_of(int64_t extent, int32_t rank, int32_t ranks, int64_t* begin,
                                 int64_t* end) {
  return guarded([&]() -> Status {
    if (Status s = need("begin", begin); !s) return s;
    if (Status s = need("end", end); !s) return s;
    if (extent < 0) {
      return invalid("extent is " + std::to_string(extent) + ": it must not be negative");
    }
    if (ranks < 1 || rank < 0 || rank >= ranks) {
      return invalid("rank is " + std::to_string(rank) + " of " + std::to_string(ranks) +
                     ": a rank is in [0, ranks)");
    }
    const cluster::Range range = cluster::rows_of(extent, rank, ranks);
    *begin = range.begin;
    *end = range.end;
    return {};
  });
}

detgemm_status_t detgemm_row_parallel_create(const detgemm_communicator_t* communicator,
                                             const detgemm_backend_t* backend,
                                             const detgemm_gemm_spec_t* spec,
                                             const detgemm_cluster_options_t* options,
                                             detgemm_cluster_plan_t** plan) {
  return create(communicator, backend, spec, options, plan,
                [](detgemm_cluster_plan_t& to, const cluster::Communicator& ranks,
                   const Backend& by, const Request& request) -> Status {
                  cluster::RowParallelOptions choices;
                  choices.output = static_cast<cluster::Placement>(request.options.output);
                  choices.algorithm = static_cast<cluster::Algorithm>(request.options.algorithm);
                  choices.plan = request.plan;
                  choices.chunks = request.options.chunks;
                  if (request.options.k_cuts != nullptr) {
                    auto shares = shares_of(request, ranks.size());
                    if (!shares) return shares.status();
                    choices.shares = *std::move(shares);
                  }
                  auto made = cluster::RowParallelPlan::create(ranks, by, request.spec, choices);
                  if (!made) return made.status();
                  to.shares = made->shares();
                  to.row = *std::move(made);
                  return {};
                });
}

detgemm_status_t detgemm_column_parallel_create(const detgemm_communicator_t* communicator,
                                                const detgemm_backend_t* backend,
                                                const detgemm_gemm_spec_t* spec,
                                                const detgemm_cluster_options_t* options,
                                                detgemm_cluster_plan_t** plan) {
  return create(communicator, backend, spec, options, plan,
                [](detgemm_cluster_plan_t& to, const cluster::Communicator& ranks,
                   const Backend& by, const Request& request) -> Status {
                  cluster::ColumnParallelOptions choices;
                  choices.input = static_cast<cluster::Placement>(request.options.input);
                  choices.output = static_cast<cluster::Placement>(request.options.output);
                  choices.plan = request.plan;
                  choices.chunks = request.options.chunks;
                  auto made = cluster::ColumnParallelPlan::create(ranks, by, request.spec, choices);
                  if (!made) return made.status();
                  to.column = *std::move(made);
                  return {};
                });
}

detgemm_status_t detgemm_tree_sum_create(const detgemm_communicator_t* communicator,
                                         const detgemm_backend_t* backend,
                                         const detgemm_gemm_spec_t* spec,
                                         const detgemm_cluster_options_t* options,
                                         detgemm_cluster_plan_t** plan) {
  return create(communicator, backend, spec, options, plan,
                [](detgemm_cluster_plan_t& to, const cluster::Communicator& ranks,
                   const Backend& by, const Request& request) -> Status {
                  auto shares = shares_of(request, ranks.size());
                  if (!shares) return shares.status();
                  auto made = cluster::TreeSum::create(
                      ranks, by, request.spec, *shares,
                      static_cast<cluster::Placement>(request.options.output),
                      static_cast<cluster::Algorithm>(request.options.algorithm));
                  if (!made) return made.status();
                  to.shares = *std::move(shares);
                  to.sum = *std::move(made);
                  return {};
                });
}

void detgemm_cluster_plan_destroy(detgemm_cluster_plan_t* plan) { destroy(plan); }

detgemm_status_t detgemm_cluster_plan_share(const detgemm_cluster_plan_t* plan, int64_t* begin,
                                            int64_t* end) {
  return guarded([&]() -> Status {
    if (Status s = check(plan); !s) return s;
    if (Status s = need("begin", begin); !s) return s;
    if (Status s = need("end", end); !s) return s;
    if (plan->column) {
      *begin = plan->column->columns().begin;
      *end = plan->column->columns().end;
    } else {
      *begin = plan->shares->k_range(plan->rank).begin;
      *end = plan->shares->k_range(plan->rank).end;
    }
    return {};
  });
}

detgemm_status_t detgemm_cluster_plan_node_count(const detgemm_cluster_plan_t* plan,
                                                 size_t* count) {
  return guarded([&]() -> Status {
    if (Status s = check(plan); !s) return s;
    if (Status s = need("count", count); !s) return s;
    if (!plan->shares) return no_nodes();
    *count = plan->shares->cover(plan->rank).size();
    return {};
  });
}

detgemm_status_t detgemm_cluster_plan_node(const detgemm_cluster_plan_t* plan, size_t index,
                                           int64_t* begin, int64_t* end) {
  return guarded([&]() -> Status {
    if (Status s = check(plan); !s) return s;
    if (Status s = need("begin", begin); !s) return s;
    if (Status s = need("end", end); !s) return s;
    if (!plan->shares) return no_nodes();
    const auto nodes = plan->shares->cover(plan->rank);
    if (index >= nodes.size()) {
      return invalid("index is " + std::to_string(index) + ": this rank has " +
                     std::to_string(nodes.size()) + " nodes");
    }
    const auto products = k_of(plan->spec.contract, plan->spec.k, nodes[index]);
    if (!products) return products.status();
    *begin = products->begin;
    *end = products->end;
    return {};
  });
}

detgemm_status_t detgemm_cluster_plan_workspace_size(const detgemm_cluster_plan_t* plan,
                                                     int64_t max_m, size_t* bytes) {
  return guarded([&]() -> Status {
    if (Status s = check(plan); !s) return s;
    if (Status s = need("bytes", bytes); !s) return s;
    const auto needed = plan->row      ? plan->row->workspace_bytes(max_m)
                        : plan->column ? plan->column->workspace_bytes(max_m)
                                       : plan->sum->workspace_bytes(max_m);
    if (!needed) return needed.status();
    *bytes = *needed;
    return {};
  });
}

detgemm_status_t detgemm_cluster_plan_run(const detgemm_cluster_plan_t* plan,
                                          const detgemm_stream_t* stream, int64_t m,
                                          const detgemm_operands_t* operands, void* workspace,
                                          size_t workspace_bytes, detgemm_run_info_t* info) {
  const Workspace scratch{workspace, workspace_bytes};
  return launch(plan, stream, operands, Inputs::a_and_b, info,
                [&](Stream queue, const Operands& arrays, RunInfo* ran) -> Status {
                  if (plan->row) return plan->row->run(queue, m, arrays, scratch, ran);
                  if (plan->column) return plan->column->run(queue, m, arrays, scratch, ran);
                  return invalid("plan is a sum of roots: it runs by detgemm_tree_sum_run");
                });
}

detgemm_status_t detgemm_tree_sum_run(const detgemm_cluster_plan_t* plan,
                                      const detgemm_stream_t* stream, int64_t m,
                                      const detgemm_const_matrix_t* const* roots, size_t count,
                                      const detgemm_operands_t* operands, void* workspace,
                                      size_t workspace_bytes, detgemm_run_info_t* info) {
  const Workspace scratch{workspace, workspace_bytes};
  return launch(plan, stream, operands, Inputs::none, info,
                [&](Stream queue, const Operands& arrays, RunInfo* ran) -> Status {
                  if (Status s = check_sum(plan); !s) return s;
                  // That many of the caller's pointers are about to be read.
                  const std::size_t nodes = plan->shares->cover(plan->rank).size();
                  if (count != nodes) {
                    return invalid("count is " + std::to_string(count) + ": this rank has " +
                                   std::to_string(nodes) + " nodes");
                  }
                  if (count != 0 && roots == nullptr) {
                    return null_argument("roots", "an array of matrices");
                  }
                  std::vector<ConstMatrix> views;
                  for (std::size_t i = 0; i < count; ++i) {
                    auto view = matrix_of("roots[" + std::to_string(i) + "]", roots[i]);
                    if (!view) return view.status();
                    views.push_back(*view);
                  }
                  return plan->sum->run(queue, m, views, arrays, scratch, ran);
                });
}

detgemm_status_t detgemm_tree_sum_place(const detgemm_cluster_plan_t* plan, int64_t m, size_t node,
                                        void** place) {
  return guarded([&]() -> Status {
    if (Status s = check(plan); !s) return s;
    if (Status s = need("place", place); !s) return s;
    if (Status s = check_sum(plan); !s) return s;
    if (m < 0) return invalid("m is " + std::to_string(m) + ": it must not be negative");
    const std::size_t nodes = plan->shares->cover(plan->rank).size();
    if (node >= nodes) {
      return invalid("node is " + std::to_string(node) + ": this rank has " +
                     std::to_string(nodes) + " nodes");
    }
    *place = plan->sum->place(m, node);
    return {};
  });
}

detgemm_status_t detgemm_cluster_plan_describe(const detgemm_cluster_plan_t* plan, int64_t m,
                                               char* buffer, size_t size, size_t* needed) {
  return guarded([&]() -> Status {
    if (Status s = check(plan); !s) return s;
    if (m < 0) return invalid("m is " + std::to_string(m) + ": it must not be negative");
    return give_text(plan->row      ? plan->row->describe(m)
                     : plan->column ? plan->column->describe(m)
                                    : plan->sum->describe(m),
                     buffer, size, needed);
  });
}
