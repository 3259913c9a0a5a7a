// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

/// Marks a symbol of the public interface; everything else is hidden.
#if defined(__GNUC__)
#define DETGEMM_API __attribute__((visibility("default")))
#else
#define DETGEMM_API
#endif
