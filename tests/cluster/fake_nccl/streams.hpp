// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>

namespace detgemm::fake {

/// What the handle of a stream of the stand-in device points at: work that is done in order, or
/// recorded while the stream is being captured.
class Stream {
 public:
  using Work = std::function<void()>;
  virtual ~Stream() = default;
  virtual void enqueue(Work work) = 0;
};

/// How the tests steer the stand-in for NCCL; the library exports these beside NCCL's functions.
struct Steering {
  void (*fail)(void* comm, int error);    ///< from now on the asynchronous error of comm
  void (*be_nonblocking)(void* comm);     ///< calls return before they are done
  bool (*was_aborted)(const void* comm);  ///< by ncclCommAbort
  int (*open_calls)();                    ///< pieces of work on streams that have not ended
};

}  // namespace detgemm::fake

extern "C" const detgemm::fake::Steering* fakeNcclSteering();
