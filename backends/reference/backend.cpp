// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <Kokkos_Core.hpp>
#include <exception>
#include <string>
#include <string_view>

#include "backends/reference/plan.hpp"
#include "backends/reference/started.hpp"
#include "core/arithmetic/step.hpp"
#include "detgemm/grouped.hpp"
#include "detgemm/log_prob.hpp"
#include "detgemm/reference.hpp"

namespace detgemm {
namespace {

bool must_snap(const GemmSpec& spec) {
  return arithmetic::is_snap(spec.contract.arithmetic) && !(spec.a_snapped && spec.b_snapped);
}

class ReferenceBackend final : public Backend {
 public:
  std::string_view name() const noexcept override { return "reference"; }
  std::string_view description() const noexcept override {
    return "every contract, executable: bit-exact models of every arithmetic on Kokkos";
  }
  Status available() const override { return reference::started(name()); }
  Status supports(const GemmSpec&) const override { return {}; }
  Guarantees guarantees(const Contract&) const override { return {true, true, true, true, true}; }
  std::vector<std::string> variants(const GemmSpec&) const override {
    return reference::variant_names();
  }
  Result<std::shared_ptr<const PlanImpl>> make_plan(const GemmSpec& spec,
                                                    const PlanOptions& options) const override {
    return reference::make_reference_plan(spec, options);
  }
  Device& device() const noexcept override { return host_device(); }
  Status snap(Stream, const SnapSpec& spec, const ConstMatrix& from,
              const Matrix& to) const override {
    if (Status s = reference::started(name()); !s) return s;
    reference::snap_matrix(spec, from, to);
    return {};
  }
  Status quantize(Stream, const QuantizeSpec& spec, const ConstMatrix& from, const Matrix& to,
                  const ScalesOut& scales) const override {
    if (Status s = reference::started(name()); !s) return s;
    reference::quantize_matrix(spec, from, to, scales);
    return {};
  }
  const LogProbEngine* log_prob() const noexcept override { return &reference::log_prob_engine(); }
  Status supports_grouped(const GroupedSpec&) const override { return {}; }
  std::vector<std::string> grouped_variants(const GroupedSpec&) const override {
    return reference::variant_names();
  }
  Result<std::shared_ptr<const GroupedPlanImpl>> make_grouped_plan(
      const GroupedSpec& spec, const PlanOptions& options) const override {
    // A plan makes the snapped copies of its operands, so each group has one.
    if (must_snap(spec.gemm)) return Backend::make_grouped_plan(spec, options);
    return reference::make_grouped_reference_plan(spec, options);
  }
};

/// True; a refusal by Kokkos is an exception.
Result<bool> start_kokkos(int threads) {
#if KOKKOS_VERSION >= 30700
  Kokkos::InitializationSettings settings;
  settings.set_disable_warnings(true);
  if (threads > 0) settings.set_num_threads(threads);
  if (Kokkos::is_finalized()) {
    return Status{Errc::unavailable,
                  "reference: Kokkos has been finalised and cannot start again in this process"};
  }
  Kokkos::initialize(settings);
#else
  Kokkos::InitArguments settings;
  settings.disable_warnings = true;
  if (threads > 0) settings.num_threads = threads;
  Kokkos::initialize(settings);
#endif
  return true;
}

/// Why Kokkos did not start, without the names of arguments that nobody here has given.
Status cannot_start(int threads, std::string_view said) {
  constexpr std::string_view variable = "KOKKOS_NUM_THREADS";
  if (said.find(variable) != said.npos) {
    return invalid("the environment variable KOKKOS_NUM_THREADS must be unset or hold " +
                   (threads > 0 ? "the requested number of threads, " + std::to_string(threads)
                                : std::string("a positive integer")));
  }
  return {Errc::internal,
          "reference: Kokkos did not start: " + std::string(said.substr(0, said.find('\n')))};
}

}  // namespace

const Backend& reference_backend() noexcept {
  static const ReferenceBackend backend;
  return backend;
}

Result<bool> initialize_reference(int threads) {
  if (threads < 0) {
    return invalid("threads is " + std::to_string(threads) + ": it must be 0 (all) or positive");
  }
  if (Kokkos::is_initialized()) return false;
  try {
    return start_kokkos(threads);
  } catch (const std::exception& error) {
    return cannot_start(threads, error.what());
  }
}

void finalize_reference() noexcept {
  if (Kokkos::is_initialized()) Kokkos::finalize();
}

}  // namespace detgemm
