// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/arithmetic/formats.hpp"

namespace detgemm::arithmetic {

template <DType T>
DETGEMM_HD float cdna3_step(const Storage<T>* a, const Storage<T>* b, float acc) {
  for (int i = 0; i < 8; ++i) acc = fma_rn(to_float<T>(a[i]), to_float<T>(b[i]), acc);
  return acc;
}

template <DType T>
DETGEMM_HD float cdna2_step(const Storage<T>* a, const Storage<T>* b, float acc) {
  for (int i = 0; i < 4; ++i) acc = fma_rn(to_float<T>(a[i]), to_float<T>(b[i]), acc);
  return acc;
}

}  // namespace detgemm::arithmetic
