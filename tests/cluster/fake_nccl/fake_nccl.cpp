// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// A stand-in for libnccl.so.2 whose ranks are threads of one process, after NCCL's documentation:
//
//   group     sends and receives between two ranks are paired in the order in which they are listed
//   connect   the first group between two ranks waits on the host until both have come
//   stream    moving the bytes is work on the stream, which waits there for the other ranks
//   abort     lets go of every wait of one communicator
//
// With FAKE_RCCL it is librccl.so.1: streams are those of a HIP runtime that executes every call at
// once, so bytes are moved inside of ncclGroupEnd, by hipMemcpyAsync. FAKE_VERSION is its version;
// with FAKE_INCOMPLETE it has no ncclSend.

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/cluster/fake_nccl/streams.hpp"

#ifndef FAKE_VERSION
#define FAKE_VERSION 22809
#endif

namespace {

constexpr int kSuccess = 0, kUnhandled = 1, kInvalidArgument = 4, kInvalidUsage = 5,
              kInProgress = 7;

struct UniqueId {
  std::array<char, 128> internal;
};

/// Bytes that a rank offers, until the receiver has taken them.
struct Offer {
  const void* data;
  std::size_t bytes;
  bool taken = false;
};

/// All ranks of one id.
struct Group {
  explicit Group(int ranks) : size(ranks) {}
  const int size;
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::pair<int, int>, std::deque<std::shared_ptr<Offer>>> offers;  ///< from, to
  std::map<std::pair<int, int>, int> met;  ///< pairs, and how many of the two have come
};

struct Comm {
  std::shared_ptr<Group> group;
  int rank = 0;
  bool nonblocking = false;
  bool aborted = false;  ///< under the group's mutex, as is all that follows
  bool connecting = false;
  int error = kSuccess;
  std::set<int> met;
};

struct Operation {
  std::shared_ptr<Comm> comm;
  bool sends;
  void* data;
  std::size_t bytes;
  int peer;
  void* stream;
};

std::mutex all_mutex;
std::map<std::string, std::shared_ptr<Group>> groups;
std::map<const void*, std::shared_ptr<Comm>> comms;
int next_id = 0;
std::atomic<int> open_calls = 0;
thread_local std::vector<Operation> pending;
thread_local int depth = 0;

std::shared_ptr<Comm> find(const void* comm) {
  const std::scoped_lock lock(all_mutex);
  const auto found = comms.find(comm);
  return found == comms.end() ? nullptr : found->second;
}

void copy(void* to, const void* from, std::size_t bytes, [[maybe_unused]] void* stream) {
#ifdef FAKE_RCCL
  // Refused by the runtime where either is not the device's memory: a mistake of the caller's.
  using Copy = int (*)(void*, const void*, std::size_t, int, void*);
  static const auto hip = reinterpret_cast<Copy>(
      dlsym(dlopen("libamdhip64.so.7", RTLD_NOW | RTLD_NOLOAD), "hipMemcpyAsync"));
  if (hip(to, from, bytes, 3, stream) != 0) std::abort();
#else
  std::memcpy(to, from, bytes);
#endif
}

/// The bytes of one group of one rank: what the kernel of NCCL does.
void move(const std::vector<Operation>& operations) {
  Comm& comm = *operations.front().comm;
  Group& group = *comm.group;
  std::vector<std::shared_ptr<Offer>> mine;
  std::unique_lock lock(group.mutex);
  for (const Operation& o : operations) {
    if (!o.sends) continue;
    mine.push_back(std::make_shared<Offer>(Offer{o.data, o.bytes}));
    group.offers[{comm.rank, o.peer}].push_back(mine.back());
  }
  group.changed.notify_all();
  for (const Operation& o : operations) {
    if (o.sends) continue;
    auto& queue = group.offers[{o.peer, comm.rank}];
    // Other sizes than expected never match, and the kernel spins.
    group.changed.wait(
        lock, [&] { return comm.aborted || (!queue.empty() && queue.front()->bytes == o.bytes); });
    if (comm.aborted) return;
    const auto offer = queue.front();
    queue.pop_front();
    copy(o.data, offer->data, o.bytes, o.stream);
    offer->taken = true;
    group.changed.notify_all();
  }
  group.changed.wait(lock, [&] {
    return comm.aborted || std::all_of(mine.begin(), mine.end(), [](auto& o) { return o->taken; });
  });
}

/// Waits on the host for peers that this rank has never talked to.
int connect(const std::vector<Operation>& operations) {
  Comm& comm = *operations.front().comm;
  Group& group = *comm.group;
  std::unique_lock lock(group.mutex);
  const auto pair = [&](int peer) {
    return std::pair{std::min(comm.rank, peer), std::max(comm.rank, peer)};
  };
  for (const Operation& o : operations) {
    if (o.peer != comm.rank && comm.met.insert(o.peer).second) ++group.met[pair(o.peer)];
  }
  group.changed.notify_all();
  for (const Operation& o : operations) {
    group.changed.wait(
        lock, [&] { return comm.aborted || o.peer == comm.rank || group.met[pair(o.peer)] >= 2; });
  }
  return comm.aborted ? kUnhandled : kSuccess;
}

int finish(const std::vector<Operation>& operations) {
  if (const int error = connect(operations); error != kSuccess) return error;
#ifdef FAKE_RCCL
  move(operations);
#else
  auto* const stream = static_cast<detgemm::fake::Stream*>(operations.front().stream);
  stream->enqueue([operations] {
    ++open_calls;
    move(operations);
    --open_calls;
  });
#endif
  return kSuccess;
}

int add(Operation operation) {
  if (operation.comm == nullptr || operation.data == nullptr) return kInvalidArgument;
  if (operation.peer < 0 || operation.peer >= operation.comm->group->size) return kInvalidArgument;
  if (depth == 0) return kInvalidUsage;  // this library never calls outside of a group
  pending.push_back(std::move(operation));
  return kSuccess;
}

}  // namespace

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))

FAKE_EXPORT int ncclGetVersion(int* version) { return *version = FAKE_VERSION, kSuccess; }
FAKE_EXPORT const char* ncclGetErrorString(int error) {
  return error == kSuccess           ? "no error"
         : error == kUnhandled       ? "unhandled cuda error"
         : error == kInvalidArgument ? "invalid argument"
         : error == 6                ? "remote process exited or there was a network error"
                                     : "another error";
}
FAKE_EXPORT const char* ncclGetLastError(void*) { return ""; }

FAKE_EXPORT int ncclGetUniqueId(UniqueId* id) {
  const std::scoped_lock lock(all_mutex);
  id->internal.fill(0);
  std::strcpy(id->internal.data(), ("fake " + std::to_string(++next_id)).c_str());
  return kSuccess;
}
FAKE_EXPORT int ncclCommInitRank(void** out, int ranks, UniqueId id, int rank) {
  const std::scoped_lock lock(all_mutex);
  auto& group = groups[id.internal.data()];
  if (group == nullptr) group = std::make_shared<Group>(ranks);
  auto comm = std::make_shared<Comm>();
  comm->group = group;
  comm->rank = rank;
  *out = comm.get();
  comms[*out] = std::move(comm);
  return kSuccess;
}
FAKE_EXPORT int ncclCommDestroy(void* comm) {
  const std::scoped_lock lock(all_mutex);
  return comms.erase(comm) == 1 ? kSuccess : kInvalidArgument;
}

FAKE_EXPORT int ncclCommCount(void* comm, int* count) {
  const auto c = find(comm);
  return c != nullptr ? (*count = c->group->size, kSuccess) : kInvalidArgument;
}
FAKE_EXPORT int ncclCommUserRank(void* comm, int* rank) {
  const auto c = find(comm);
  return c != nullptr ? (*rank = c->rank, kSuccess) : kInvalidArgument;
}
FAKE_EXPORT int ncclCommCuDevice(void* comm, int* device) {
  return find(comm) != nullptr ? (*device = 0, kSuccess) : kInvalidArgument;
}
FAKE_EXPORT int ncclCommGetAsyncError(void* comm, int* error) {
  const auto c = find(comm);
  if (c == nullptr) return kInvalidArgument;
  const std::scoped_lock lock(c->group->mutex);
  *error = c->error != kSuccess ? c->error : c->connecting ? kInProgress : kSuccess;
  return kSuccess;
}
FAKE_EXPORT int ncclCommAbort(void* comm) {
  const auto c = find(comm);
  if (c == nullptr) return kInvalidArgument;
  {
    const std::scoped_lock lock(c->group->mutex);
    c->aborted = true;
    c->group->changed.notify_all();
  }
  return ncclCommDestroy(comm);  // it is gone: any later call is refused
}

FAKE_EXPORT int ncclGroupStart() { return ++depth, kSuccess; }
FAKE_EXPORT int ncclGroupEnd() {
  if (depth == 0) return kInvalidUsage;
  if (--depth > 0 || pending.empty()) return kSuccess;
  const auto operations = std::exchange(pending, {});
  const auto comm = operations.front().comm;
  if (!comm->nonblocking) return finish(operations);
  {
    const std::scoped_lock lock(comm->group->mutex);
    comm->connecting = true;
  }
  std::thread([operations, comm] {
    const int error = finish(operations);
    const std::scoped_lock lock(comm->group->mutex);
    comm->connecting = false;
    comm->error = error;
  }).detach();
  return kInProgress;
}
#ifndef FAKE_INCOMPLETE
FAKE_EXPORT int ncclSend(const void* data, std::size_t count, int type, int peer, void* comm,
                         void* stream) {
  if (type != 0) return kInvalidArgument;
  return add({find(comm), true, const_cast<void*>(data), count, peer, stream});
}
#endif
FAKE_EXPORT int ncclRecv(void* data, std::size_t count, int type, int peer, void* comm,
                         void* stream) {
  if (type != 0) return kInvalidArgument;
  return add({find(comm), false, data, count, peer, stream});
}

// This library adds nothing, and neither does whoever uses it through detgemm.
FAKE_EXPORT int ncclAllReduce(const void*, void*, std::size_t, int, int, void*, void*) {
  return kInvalidUsage;
}
FAKE_EXPORT int ncclReduceScatter(const void*, void*, std::size_t, int, int, void*, void*) {
  return kInvalidUsage;
}

FAKE_EXPORT const detgemm::fake::Steering* fakeNcclSteering() {
  static const detgemm::fake::Steering steering{
      [](void* comm, int error) {
        const auto c = find(comm);
        const std::scoped_lock lock(c->group->mutex);
        c->error = error;
      },
      [](void* comm) { find(comm)->nonblocking = true; },
      [](const void* comm) { return find(comm) == nullptr; }, [] { return open_calls.load(); }};
  return &steering;
}
