// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <exception>
#include <mutex>
#include <string>

#include "backends/reference/device_space.hpp"
#include "backends/reference/element_kernel.hpp"
#include "detgemm/plan.hpp"
#include "detgemm/reference.hpp"

#ifdef DETGEMM_KOKKOS_DEVICE

namespace detgemm {
namespace {

using reference::DeviceSpace;
using reference::kRootsByValue;
using reference::Root;

constexpr const char* kElements = "elements";

/// A block has at least this many threads: with so many items per worker there are no more blocks,
/// and no more multiprocessors at work, than workers.
constexpr std::int64_t kItemsPerWorker = 32;

// Kokkos hands bodies below 512 bytes to the kernel as they are, without a copy through memory.
static_assert(sizeof(reference::Combined<reference::RootsByValue>) <= 512 - 128,
              "the body of a combine, with the fields that Kokkos adds, is below 512 bytes");

/// Writes a few roots to the device, from a kernel's arguments: no host memory has to live on.
struct PlaceRoots {
  reference::RootsByValue roots;
  Root* to;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const { to[i] = roots[i]; }
};

/// Kokkos's first launch of a kernel fills tables without a lock.
std::mutex& launching() {
  static std::mutex mutex;
  return mutex;
}

class DevicePlan final : public PlanImpl {
 public:
  DevicePlan(const GemmSpec& spec, int workers)
      : spec_(spec), items_(std::int64_t{workers} * kItemsPerWorker) {
    if (spec.contract.reduction.kind == ReductionKind::tree) {
      const std::int64_t leaves = spec.contract.leaves(spec.k);
      // Equal ranges: a power of two that divides the leaves. Nodes: no more than there are leaves.
      const std::int64_t max_roots =
          std::max(leaves & -leaves, std::min<std::int64_t>(leaves, kMaxNodeRoots));
      if (max_roots > kRootsByValue) roots_ = static_cast<std::size_t>(max_roots) * sizeof(Root);
    }
  }

  /// Room for the roots of a combine that are too many to be arguments.
  std::size_t workspace_bytes(std::int64_t max_m) const override { return max_m == 0 ? 0 : roots_; }

  Status run(Stream stream, const Operands& operands, Workspace, RunInfo* info) const override {
    return enqueue(info, [&] {
      const DeviceSpace& space = reference::instance_on(stream);
      const GemmArguments g = flatten(spec_, operands);
      const ScalePair scales = flatten_scales(spec_, operands);
      arithmetic::for_step(
          spec_.contract.arithmetic, spec_.contract.input, [&]<Arithmetic A, DType T>() {
            reference::launch_elements<DeviceSpace, A, T>(space, g, scales, items_);
          });
    });
  }

  Status combine(Stream stream, std::span<const TreeRoot> roots, const Operands& operands,
                 Workspace workspace, RunInfo* info) const override {
    return enqueue(info, [&] {
      const DeviceSpace& space = reference::instance_on(stream);
      const GemmArguments g = flatten(spec_, operands);
      const auto count = static_cast<std::int64_t>(roots.size());
      if (count <= kRootsByValue) {
        reference::launch_combine(space, g, some(roots, 0), count, items_);
        return;
      }
      auto* const list = static_cast<Root*>(workspace.data);
      for (std::int64_t i = 0; i < count; i += kRootsByValue) {
        reference::for_each_output("detgemm::reference::roots", space,
                                   std::min(kRootsByValue, count - i), 0,
                                   PlaceRoots{some(roots, i), list + i});
      }
      reference::launch_combine(space, g, reference::RootsInMemory{list}, count, items_);
    });
  }

  std::string kernel(std::int64_t) const override { return kElements; }

 private:
  template <class Launch>
  static Status enqueue(RunInfo* info, Launch&& launch) {
    if (Status s = reference::device_started(); !s) return s;
    try {
      const std::scoped_lock lock(launching());
      launch();
    } catch (const std::exception& e) {
      return {Errc::internal,
              std::string("reference-device: Kokkos could not launch: ") + e.what()};
    }
    if (info != nullptr) info->kernel = kElements;
    return {};
  }

  static reference::RootsByValue some(std::span<const TreeRoot> roots, std::int64_t first) {
    reference::RootsByValue list{};
    const std::int64_t left = static_cast<std::int64_t>(roots.size()) - first;
    for (std::int64_t i = 0; i < std::min(kRootsByValue, left); ++i) {
      const auto& [root, closes] = roots[static_cast<std::size_t>(first + i)];
      list.list[i] = {static_cast<const float*>(root.data), strides_of(root, Op::none), closes};
    }
    return list;
  }

  GemmSpec spec_;
  std::int64_t items_;  // 0: one item per output
  std::size_t roots_ = 0;
};

class ReferenceDeviceBackend final : public Backend {
 public:
  std::string_view name() const noexcept override { return "reference-device"; }
  std::string_view description() const noexcept override {
    return "every contract, executable: the scalar definition on Kokkos's device space";
  }
  Status available() const override { return reference::device_started(); }
  Status supports(const GemmSpec&) const override { return {}; }
  Guarantees guarantees(const Contract&) const override { return {true, true, true, true, true}; }
  std::vector<std::string> variants(const GemmSpec&) const override { return {kElements}; }
  Result<std::shared_ptr<const PlanImpl>> make_plan(const GemmSpec& spec,
                                                    const PlanOptions& options) const override {
    return std::shared_ptr<const PlanImpl>(std::make_shared<DevicePlan>(spec, options.max_workers));
  }
  Device& device() const noexcept override { return reference::kokkos_device(); }
};

}  // namespace

const Backend* reference_device_backend() noexcept {
  static const ReferenceDeviceBackend backend;
  return &backend;
}

}  // namespace detgemm

#else

namespace detgemm {

const Backend* reference_device_backend() noexcept { return nullptr; }

}  // namespace detgemm

#endif
