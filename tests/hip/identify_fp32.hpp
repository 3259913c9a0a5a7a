// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

namespace detgemm::test {

/// Compares the chip's fp32 matrix instruction with a chain of fma and with other arithmetics, and
/// prints a verdict. 0: equal everywhere; 1: it differs; 77: the chip has none that is used.
int identify_fp32();

}  // namespace detgemm::test
