// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "detgemm/backend.hpp"

namespace detgemm {

/// What a tuning file is bound to: a backend's kernels on one kind of device.
struct TuningTarget {
  std::string backend;          ///< for example "cuda"
  std::string version;          ///< of the library, for example "0.1.0"
  std::uint64_t kernels = 0;    ///< digest of the names of all kernels that can be forced
  std::string device;           ///< for example "NVIDIA H200"
  std::int32_t processors = 0;  ///< multiprocessors

  /// The same library, kernels and kind of device.
  bool operator==(const TuningTarget&) const = default;
};

/// The kernel that products of first_m to last_m rows take.
struct TunedRange {
  std::int64_t first_m = 0;  ///< at least 1
  std::int64_t last_m = 0;   ///< at least first_m, both included
  std::string kernel;        ///< one of Backend::variants
  double us = 0;             ///< microseconds of the kernel when it was measured, for people
  double chosen_us = 0;      ///< and of the kernel that the model of time had chosen
  std::int32_t number = -1;  ///< the backend's own number of the kernel; not in the text
};

/// All rows for products that differ in M alone.
struct DETGEMM_API TunedProduct {
  Contract contract;
  std::int64_t n = 0;
  std::int64_t k = 0;
  Op op_a = Op::none;
  Op op_b = Op::none;
  std::vector<TunedRange> ranges;  ///< ascending, none overlaps another

  /// The row of m, or null: the model of time then chooses.
  const TunedRange* find(std::int64_t m) const;
  /// Whether the rows are for this product. Of a spec they look at the contract, n, k and the ops:
  /// a bias or an activation has those of the bare product.
  bool is_of(const GemmSpec& spec) const;
};

/// Measured choices of kernels for one kind of device, which take the place of the model of time
/// where they have a row. `detgemm tune` measures and writes them. All kernels of a contract return
/// the same bits, a row can only name one of these, and a kernel that does not take the arrays of a
/// call is passed over, so whatever a file holds, no bit depends on it; a wrong file costs time.
///
/// The text, one item per line (docs/tune.md):
///
///     detgemm-tuning 1
///     backend cuda
///     version 0.1.0
///     kernels 0123456789abcdef
///     device NVIDIA H200
///     processors 132
///     product hopper/bf16/chain->bf16 n 4096 k 4096 a none b transpose
///     m 9 16 64x32 us 9.41 chosen 9.80
///     digest fedcba9876543210
///
/// The last line is the FNV-1a digest of all bytes before it.
class DETGEMM_API Tuning {
 public:
  /// Reads a text for a backend on the current device. Refused with a sentence: a text that is
  /// damaged (invalid_argument), for other kernels, another version or device (unavailable), with
  /// a kernel that does not compute its product (not_found), a backend without tuning
  /// (unsupported).
  static Result<std::shared_ptr<const Tuning>> parse(const Backend& backend, std::string_view text);
  /// The same from a file; `io` where it cannot be read.
  static Result<std::shared_ptr<const Tuning>> load(const Backend& backend,
                                                    const std::string& path);
  /// From rows that were measured here. Refused as by `parse`.
  static Result<std::shared_ptr<const Tuning>> make(const Backend& backend,
                                                    std::vector<TunedProduct> products);

  /// What `parse` reads.
  std::string text() const;
  /// What the rows were measured with, and on which device.
  const TuningTarget& target() const noexcept { return target_; }
  /// All rows, by product.
  const std::vector<TunedProduct>& products() const noexcept { return products_; }
  /// The rows of a product, or null.
  const TunedProduct* find(const GemmSpec& spec) const;
  /// Whose kernels these are.
  const Backend& backend() const noexcept { return *backend_; }

 private:
  Tuning(const Backend& backend, TuningTarget target)
      : backend_(&backend), target_(std::move(target)) {}
  Status add(TunedProduct product);

  const Backend* backend_;
  TuningTarget target_;
  std::vector<TunedProduct> products_;
};

/// From now on plans of `tuning.backend()` that name no tuning of their own take this one, in every
/// thread of the process, the one-call form and PyTorch's operators included; null ends it. Plans
/// that exist keep what they have. Nothing is read from the environment.
DETGEMM_API void use_tuning(std::shared_ptr<const Tuning> tuning);
/// What was given to `use_tuning`, or null.
DETGEMM_API std::shared_ptr<const Tuning> tuning_in_use();

/// A backend's half of tuning. Every function may be called concurrently.
class DETGEMM_API TuningEngine {
 public:
  virtual ~TuningEngine();
  /// What files are bound to on the current device.
  virtual Result<TuningTarget> target() const = 0;
  /// The number by which the backend forces this kernel, or -1 where it does not compute the
  /// problem.
  virtual std::int32_t number(const GemmSpec& spec, std::string_view kernel) const = 0;
  /// The names of the kernels that take the problem with m rows of usual arrays, the one that the
  /// model of time expects to be fastest first.
  virtual std::vector<std::string> ranked(const GemmSpec& spec, std::int64_t m) const = 0;
};

}  // namespace detgemm
