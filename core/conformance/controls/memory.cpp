// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <array>
#include <atomic>
#include <cstring>

#include "core/conformance/controls/faulty_backend.hpp"

// Engines that read or write memory that is not theirs, or share memory that they should not.

namespace detgemm::controls {
namespace {

/// An unmasked vector load: the element after the last one enters, times zero.
void load_past_the_row(const Run& run) {
  with_step(run, [&](const GemmArguments& g, const ScalarStep& step) {
    for_outputs(g, [&](std::int64_t row, std::int64_t col) {
      const std::int64_t behind = row * g.as.row + g.k * g.as.col;
      const float past = g.k > 0 ? step.load(g.a, behind) : 0.0F;
      const float acc = reduce_leaves(g.reduction, g.k, start_value(g, row, col),
                                      [&](std::int64_t begin, std::int64_t end, float start) {
                                        return step.chain(g, row, col, begin, end, start);
                                      });
      finish_element(g, row, col, arithmetic::add_rn(acc, arithmetic::mul_rn(past, 0.0F)));
    });
  });
}

/// An unmasked vector store: one element after each row is overwritten.
void store_past_the_row(const Run& run) {
  compute_honestly(run);
  const GemmArguments g = flatten(run.spec, run.operands);
  for (std::int64_t row = 0; row < g.m && g.ds.row > g.n; ++row) {
    store_rounded(g.d, row * g.ds.row + g.n, g.output, 0.0F);
  }
}

/// Assumes that scratch memory is zero.
void start_from_the_workspace(const Run& run) {
  with_step(run, [&](const GemmArguments& g, const ScalarStep& step) {
    const float left = *static_cast<const float*>(run.workspace.data);
    for_outputs(g, [&](std::int64_t row, std::int64_t col) {
      const float acc = reduce_leaves(g.reduction, g.k, start_value(g, row, col),
                                      [&](std::int64_t begin, std::int64_t end, float start) {
                                        return step.chain(g, row, col, begin, end, start);
                                      });
      finish_element(g, row, col, arithmetic::add_rn(acc, left));
    });
  });
}

/// One scratch for all callers: the sums of a call wait there until they are stored. Atomic, so
/// that it is wrong without being undefined.
void accumulate_in_static_memory(const Run& run) {
  static std::array<std::atomic<float>, 1024> scratch;
  const std::int64_t n = run.spec.n;
  const auto cell = [&](std::int64_t row, std::int64_t col) -> std::atomic<float>& {
    return scratch[static_cast<std::size_t>(row * n + col) % scratch.size()];
  };
  with_own_epilogue(run, [&](const GemmArguments&, std::int64_t row, std::int64_t col, float acc) {
    cell(row, col) = acc;
  });
  const GemmArguments g = flatten(run.spec, run.operands);
  for_outputs(
      g, [&](std::int64_t row, std::int64_t col) { finish_element(g, row, col, cell(row, col)); });
}

std::int64_t bytes_to(const ConstMatrix& x) {
  if (x.rows == 0 || x.cols == 0) return 0;
  const std::int64_t last = (x.rows - 1) * x.row_stride + (x.cols - 1) * x.col_stride;
  return (last + 1) * static_cast<std::int64_t>(size_of(x.dtype));
}

/// A copy of B waits in the workspace for the next call that has the same arrays.
struct Keepsake {
  std::uint64_t mark;
  const void* b;
  std::int64_t bytes;
};
constexpr std::size_t kKeepsakes = std::size_t{1} << 20;
constexpr std::uint64_t kMark = 0x6b65657073616b65U;

void keep_b_in_workspace(const Run& run) {
  const ConstMatrix b = run.operands.b;
  const std::int64_t bytes = bytes_to(b);
  auto* at = static_cast<std::uint8_t*>(run.workspace.data);
  const Keepsake mine{kMark, b.data, bytes};
  if (run.spec.k == 0 || sizeof mine + static_cast<std::size_t>(bytes) > run.workspace.bytes) {
    return compute_honestly(run);
  }
  Keepsake found{};
  std::memcpy(&found, at, sizeof found);
  if (found.mark != kMark || found.b != b.data || found.bytes != bytes) {
    std::memcpy(at + sizeof mine, b.data, static_cast<std::size_t>(bytes));
    std::memcpy(at, &mine, sizeof mine);
  }
  Operands operands = run.operands;
  operands.b.data = at + sizeof mine;
  compute_honestly({run.spec, run.options, operands, run.workspace});
}

thread_local bool capturing = false;

class GraphHost final : public Device {
 public:
  DeviceKind kind() const noexcept override { return host_device().kind(); }
  std::string description() const override { return "host with make-believe graphs"; }
  Result<void*> allocate(std::size_t bytes) override { return host_device().allocate(bytes); }
  void release(void* memory) noexcept override { host_device().release(memory); }
  Status to_device(void* device, const void* host, std::size_t bytes) override {
    return host_device().to_device(device, host, bytes);
  }
  Status to_host(void* host, const void* device, std::size_t bytes) override {
    return host_device().to_host(host, device, bytes);
  }
  Result<Stream> create_stream() override { return host_device().create_stream(); }
  void destroy_stream(Stream stream) noexcept override { host_device().destroy_stream(stream); }
  Status synchronize(Stream stream) override { return host_device().synchronize(stream); }
  bool has_graphs() const noexcept override { return true; }
  Status replay(Stream stream, const std::function<Status(Stream)>& enqueue, int times) override {
    capturing = true;
    Status status;
    for (int i = 0; i < times && status.ok(); ++i) status = enqueue(stream);
    capturing = false;
    return status;
  }
};

}  // namespace

Fault reads_padding() { return {"reads_padding", load_past_the_row}; }
Fault writes_padding() { return {"writes_padding", store_past_the_row}; }
Fault dirty_workspace() {
  return {"dirty_workspace", start_from_the_workspace, nullptr, sizeof(float)};
}
Fault shared_scratch() { return {"shared_scratch", accumulate_in_static_memory}; }

Device& graph_host() noexcept {
  static GraphHost device;
  return device;
}

Fault keeps_b_in_workspace() {
  return {"keeps_b_in_workspace", keep_b_in_workspace, nullptr, kKeepsakes};
}

Fault graph_switch() {
  Fault fault{"graph_switch", [](const Run& run) {
                compute_with(run,
                             capturing ? another(run.spec.contract) : run.spec.contract.reduction);
              }};
  fault.device = &graph_host();
  return fault;
}

}  // namespace detgemm::controls
