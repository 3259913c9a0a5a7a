// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "detgemm/contract.hpp"

namespace detgemm::dropin {

/// The kinds of inputs that a program may multiply. `tf32` is fp32 in memory whose caller allowed
/// fewer bits than fp32 has (TF32, FAST_16F, FAST_16BF).
enum class Kind : int { bf16 = 0, fp16 = 1, fp32 = 2, tf32 = 3 };
inline constexpr int kKinds = 4;

/// Which way the operands of the column-major product D = op(A)*op(B) run: the two letters of the
/// BLAS, first A's. With row-major data, TN is the forward pass of a linear layer, NN the gradient
/// of its input and NT the gradient of its weights.
enum class Direction : int { nn = 0, nt = 1, tn = 2, tt = 3 };
inline constexpr int kDirections = 4;

/// "bf16", "fp16", "fp32" or "tf32".
std::string_view name(Kind kind) noexcept;
/// "NN", "NT", "TN" or "TT".
std::string_view name(Direction direction) noexcept;

/// What the file says of one kind and direction. The output type is the call's.
struct Choice {
  bool pass = false;  ///< left to the vendor
  Arithmetic arithmetic = Arithmetic::ieee_fma;
  DType input = DType::fp32;
  Reduction reduction{};
};

/// Everything that the configuration file says; see docs/dropin.md for its text.
struct Policy {
  std::string backend;         ///< the name of a backend; empty: the vendor's own
  bool refuse_others = false;  ///< what is not taken is refused and not passed on
  bool wait_for_reads = true;  ///< wait for the stream to read scalars and addresses on a device
  bool table = true;           ///< print the table at exit
  bool signal = true;          ///< print the table on SIGUSR1
  std::string log;             ///< a file for JSON lines; empty: none
  std::string vendor;          ///< the vendor's BLAS, a path; empty: looked for
  std::string vendor_lt;       ///< the vendor's BLASLt
  std::array<std::array<Choice, kDirections>, kKinds> choices{};

  /// The contract of a call, or nothing where the file leaves it to the vendor.
  std::optional<Contract> contract(Kind kind, Direction direction, DType output) const;
};

/// The policy without a file: bf16 and fp16 under hopper chain, everything in fp32 under
/// ieee_fma/fp32/chain, what is not taken is passed on.
Policy default_policy();

/// Reads the text of a configuration file on top of the defaults. Each fault is a sentence that
/// begins with `where`, a colon and the number of the line; the policy holds if there is none.
Policy parse_policy(std::string_view text, std::string_view where,
                    std::vector<std::string>& faults);

}  // namespace detgemm::dropin
