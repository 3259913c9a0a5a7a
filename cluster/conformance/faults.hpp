// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "detgemm/cluster.hpp"

// Jobs that a conformance run must refuse: plain tensor parallelism with one planted fault each.
// They share no code with the library's plans: every rank computes the chains of its leaves, all
// ranks receive all of them, and a function adds the numbers of one output.

namespace detgemm::cluster {

/// The numbers of one output as a rank sees them.
struct Pieces {
  std::span<const float> values;  ///< in order of K
  std::span<const int> owners;    ///< the rank that computed each
  int rank = 0;                   ///< who adds
  int ranks = 1;
  int row_owner = 0;  ///< the rank whose slice of rows this output belongs to
};

struct Fault {
  std::string_view name;
  std::string_view text;      ///< what it does wrong
  std::string_view property;  ///< that must catch it
  float (*add)(const Pieces&);
  bool shifted = false;         ///< rank 1 computes the leaves after its own
  bool by_elements = false;     ///< K is cut in equal numbers of products, leaves or not
  bool stale = false;           ///< the last numbers are those of the call before
  bool early_epilogue = false;  ///< every rank applies the epilogue to its part
};

/// What all of them compute.
inline constexpr std::string_view kFaultContract = "ieee_fma/fp32/tree:32->fp32";
/// The name of the entry without a fault, the last one.
inline constexpr std::string_view kNoFault = "none";

std::span<const Fault> faults();

/// The ranks as one backend, on host memory.
std::unique_ptr<Backend> make_faulty_job(const Communicator& communicator, const Fault& fault);

}  // namespace detgemm::cluster
