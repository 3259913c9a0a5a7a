// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

namespace detgemm::test {

/// What a test tells steered_runtime.cpp to answer, and what the runtime was asked to do; exported
/// as `detgemm_fake_hip`.
struct Steering {
  int device = 0;         ///< the current device
  int units = 304;        ///< its compute units
  int xcds = 0;           ///< its dies; 0: the runtime does not know the question
  int stream_device = 0;  ///< the device of every stream
  int memory_type = 2;    ///< hipMemoryType of HIP 6: 0 unknown, 1 host, 2 device
  int memory_device = 0;  ///< ordinal of the device that has the memory
  int managed = 0;        ///< whether memory is managed
  int capturing = 0;      ///< whether every stream is being captured
  int broken = 0;         ///< whether every launch fails with an invalid handle
  int loads = 0;          ///< modules that were loaded
  int launches = 0;       ///< kernels that were launched
  /// The beginning of the last launch's arguments: a TileArguments, unless it was a combine.
  alignas(16) unsigned char arguments[256] = {};
};

}  // namespace detgemm::test
