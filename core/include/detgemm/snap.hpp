// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "detgemm/matrix.hpp"

namespace detgemm {

class Backend;

/// Which dimension of a stored matrix is K, the one that is summed over.
enum class KDimension : std::int32_t {
  cols = 0,  ///< the view is M x K or N x K: A with op none, B with transpose, a layer's weights
  rows = 1,  ///< the view is K x M or K x N: A with transpose, B with op none
};

/// How a matrix is cut into leaves. Every row (KDimension::cols) or column (rows) of the view is
/// cut from its first element on into leaves of leaf_k, the last one possibly shorter, and each
/// leaf is snapped by itself.
struct SnapSpec {
  std::int64_t leaf_k = 128;  ///< LEAF of the contract: a multiple of 64, at most kMaxLeaf
  KDimension k = KDimension::cols;
};

/// ok, or the rule that the call breaks on every backend. No element is read.
DETGEMM_API Status validate(const SnapSpec& spec, const ConstMatrix& from, const Matrix& to);

/// Rounds every leaf to its grid (core/contract/CONTRACT.md, section 3.5), as a contract of `snap`
/// does with its operands: what is written is an ordinary bf16 matrix that such a contract takes
/// unchanged (`GemmSpec::a_snapped`, `b_snapped`), with the bits it would give for `from`. Snapping
/// again changes nothing. A leaf has the same bits whatever is next to it.
///
/// `from` and `to` are bf16, of the same shape, in memory of the stream's device, with any strides
/// that matrix.hpp allows. `to` may be `from` itself (same pointer and strides); no other overlap
/// is allowed. On a GPU the work is enqueued on the stream, may be captured into a graph, and the
/// call does not wait; on the host it is finished at return.
///
/// Refuses, and writes nothing: arguments that break a rule (invalid_argument), a backend that
/// cannot run here or now (unavailable) or does not snap (unsupported).
DETGEMM_API Status snap(const Backend& backend, Stream stream, const SnapSpec& spec,
                        const ConstMatrix& from, const Matrix& to);

/// Whether `snap` would change the value of no element, which is what `GemmSpec::a_snapped` and
/// `b_snapped` promise. Zeros of both signs are one value, and all NaN are. It waits for the
/// stream, copies where the backend has no faster way, and cannot be captured: a check for tools,
/// tests and debugging. Same refusals as `snap`.
DETGEMM_API Result<bool> is_snapped(const Backend& backend, Stream stream, const SnapSpec& spec,
                                    const ConstMatrix& matrix);

}  // namespace detgemm
