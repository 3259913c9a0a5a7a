// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "cluster/nccl/library.hpp"

// Every call into NCCL is made between `enter` and `leave`, so that `abort`, which frees the
// communicator, can let them out first. A blocking communicator waits inside of ncclGroupEnd for a
// rank that it has never talked to; therefore `agree`, which talks to all of them first, makes that
// call on a thread of its own and can give up waiting for it.

namespace detgemm::cluster {
namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;

/// How long an abort waits for calls into NCCL. They take microseconds, unless they are stuck, and
/// then it is the abort that frees them.
constexpr Milliseconds kLeaveTime{1000};

/// `done` called again and again: true, or false when the patience (0: without end) is over.
template <class Done>
bool poll(Milliseconds patience, Done&& done) {
  const auto from = Clock::now();
  for (int round = 0; !done(); ++round) {
    if (patience.count() != 0 && Clock::now() - from > patience) return false;
    if (round < 1000) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
  return true;
}

/// A communicator and what became of it; shared with threads that are stuck in it.
class Comm {
 public:
  Comm(const NcclLibrary& library, void* comm) : library_(library), comm_(comm) {}

  Status read() {
    int device = 0;
    const NcclFunctions& call = library_.call;
    for (const auto& [ask, to] :
         {std::pair{call.CommCount, &size_}, std::pair{call.CommUserRank, &rank_},
          std::pair{call.CommCuDevice, &device}}) {
      if (const int error = ask(comm_, to); error != kNcclSuccess) {
        return invalid("comm is not a communicator: " +
                       text("its size and rank cannot be read", error));
      }
    }
    device_ = device;
    return health();
  }

  int rank() const { return rank_; }
  int size() const { return size_; }
  int device() const { return device_; }
  const std::string& library() const { return library_.name; }

  /// The first failure, which stays.
  Status fail(const std::string& sentence) {
    const std::scoped_lock lock(mutex_);
    if (broken_.ok()) broken_ = {Errc::peer, sentence};
    return broken_;
  }

  Status health() {
    if (Status s = enter(); !s) return s;
    int state = kNcclSuccess;
    const int error = library_.call.CommGetAsyncError(comm_, &state);
    const bool bad = error != kNcclSuccess || (state != kNcclSuccess && state != kNcclInProgress);
    const std::string why =
        bad ? text("asynchronous error", error != kNcclSuccess ? error : state) : "";
    leave();
    return bad ? fail(why) : Status{};
  }

  /// Sends and receives on a stream, as one group. Waits only for a communicator that does
  /// not block, and for that with patience.
  Status move(Stream stream, std::span<const Send> sends, std::span<const Receive> receives,
              Milliseconds patience) {
    if (Status s = enter(); !s) return s;
    const NcclFunctions& call = library_.call;
    int error = call.GroupStart();
    const bool started = error == kNcclSuccess;
    const auto keep = [&](int result) {
      if (error == kNcclSuccess && result != kNcclInProgress) error = result;
    };
    for (const Send& s : sends) {
      if (error != kNcclSuccess || s.bytes == 0) continue;
      keep(call.Send(s.data, s.bytes, kNcclInt8, s.to, comm_, stream.handle));
    }
    for (const Receive& r : receives) {
      if (error != kNcclSuccess || r.bytes == 0) continue;
      keep(call.Recv(r.data, r.bytes, kNcclInt8, r.from, comm_, stream.handle));
    }
    const int ended = started ? call.GroupEnd() : kNcclSuccess;
    keep(ended);
    const std::string why = error == kNcclSuccess ? "" : text("sends and receives", error);
    leave();
    if (!why.empty()) return fail(why);
    if (ended != kNcclInProgress) return {};
    Status status;
    if (!poll(patience, [&] { return !in_progress(status); })) {
      return fail(late(patience));
    }
    return status;
  }

  std::string late(Milliseconds patience) const {
    return "a rank of " + std::to_string(size_) + " timed out after " +
           std::to_string(patience.count()) + " ms";
  }

  void abort() {
    std::unique_lock lock(mutex_);
    if (broken_.ok()) broken_ = {Errc::peer, "rank " + std::to_string(rank_) + " aborted"};
    if (std::exchange(aborted_, true)) return;
    left_.wait_for(lock, kLeaveTime, [&] { return inside_ == 0; });
    lock.unlock();
    library_.call.CommAbort(comm_);
  }

 private:
  Status enter() {
    const std::scoped_lock lock(mutex_);
    if (!broken_.ok()) return broken_;
    ++inside_;
    return {};
  }
  void leave() {
    const std::scoped_lock lock(mutex_);
    --inside_;
    left_.notify_all();
  }

  /// Whether a communicator that does not block is still at work on the host.
  bool in_progress(Status& status) {
    status = enter();
    if (!status) return false;
    int state = kNcclSuccess;
    const int error = library_.call.CommGetAsyncError(comm_, &state);
    leave();
    if (error == kNcclSuccess && state == kNcclInProgress) return true;
    status = health();
    return false;
  }

  /// Called by who is inside, since NCCL's own words are the communicator's.
  std::string text(const std::string& what, int error) const {
    const NcclFunctions& call = library_.call;
    std::string sentence = library_.name + ": " + what + ": ";
    const char* const name = call.GetErrorString(error);
    sentence += name != nullptr ? name : "error " + std::to_string(error);
    const char* const more = call.GetLastError != nullptr ? call.GetLastError(comm_) : nullptr;
    if (more != nullptr && *more != '\0') sentence += std::string(" (") + more + ")";
    return sentence;
  }

  const NcclLibrary library_;
  void* const comm_;
  int rank_ = 0, size_ = 1, device_ = -1;
  std::mutex mutex_;
  std::condition_variable left_;
  int inside_ = 0;  ///< calls into NCCL
  bool aborted_ = false;
  Status broken_;
};

/// Device memory and a stream for records of agreement.
class Records {
 public:
  explicit Records(Device& device) : device_(device) {}
  Records(const Records&) = delete;
  ~Records() {
    device_.release(data_);
    if (made_) device_.destroy_stream(stream_);
  }

  Status grow(std::size_t bytes) {
    if (!made_) {
      const auto stream = device_.create_stream();
      if (!stream) return stream.status();
      stream_ = *stream;
      made_ = true;
    }
    if (bytes <= bytes_) return {};
    device_.release(std::exchange(data_, nullptr));
    bytes_ = 0;
    const auto data = device_.allocate(bytes);
    if (!data) return data.status();
    data_ = *data;
    bytes_ = bytes;
    return {};
  }
  std::byte* data() const { return static_cast<std::byte*>(data_); }
  Stream stream() const { return stream_; }

  std::atomic<bool> in_use = false;  ///< by a step that has not ended

 private:
  Device& device_;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  bool made_ = false;
  Stream stream_{};
};

/// One step of agreement on its way: what the thread that enqueues it leaves behind.
struct Enqueued {
  std::atomic<bool> done = false;
  Status status;  ///< read it after `done`
};

class NcclTransport final : public Transport {
 public:
  NcclTransport(std::shared_ptr<Comm> comm, Device& device)
      : comm_(std::move(comm)), device_(device), records_(std::make_shared<Records>(device)) {}
  ~NcclTransport() override {
    if (!records_->in_use) return;
    // The device may still write there, so they are never given back.
    static auto* const abandoned = new std::vector<std::shared_ptr<Records>>;
    static std::mutex mutex;
    const std::scoped_lock lock(mutex);
    abandoned->push_back(std::move(records_));
  }

  std::string description() const override { return comm_->library(); }
  int rank() const noexcept override { return comm_->rank(); }
  int size() const noexcept override { return comm_->size(); }
  bool enqueues(DeviceKind kind) const noexcept override { return kind == device_.kind(); }
  Status health() override { return comm_->health(); }
  void abort() noexcept override { comm_->abort(); }

  Status exchange(Stream stream, std::span<const Send> sends, std::span<const Receive> receives,
                  Milliseconds patience) override {
    if (stream.kind != device_.kind()) {
      return invalid("stream.kind is " + std::string(name(stream.kind)) + ": " + comm_->library() +
                     " moves memory of the kind " + std::string(name(device_.kind())));
    }
    return comm_->move(stream, sends, receives, patience);
  }

  /// Every rank sends its record to all, itself included, so that all pairs are connected after it.
  Status agree(std::span<const std::byte> mine, std::span<std::byte> all,
               Milliseconds patience) override {
    if (Status s = comm_->health(); !s) return s;
    if (Status s = records_->grow(mine.size() + all.size()); !s) return s;
    std::byte* const out = records_->data();
    std::byte* const in = out + mine.size();
    if (Status s = device_.to_device(out, mine.data(), mine.size()); !s) return s;
    std::vector<Send> sends;
    std::vector<Receive> receives;
    for (int r = 0; r < size(); ++r) {
      sends.push_back({r, out, mine.size()});
      receives.push_back({r, in + static_cast<std::size_t>(r) * mine.size(), mine.size()});
    }
    if (Status s = finish(std::move(sends), std::move(receives), patience); !s) return s;
    return device_.to_host(all.data(), in, all.size());
  }

 private:
  Status finish(std::vector<Send> sends, std::vector<Receive> receives, Milliseconds patience) {
    const auto from = Clock::now();
    const auto step = std::make_shared<Enqueued>();
    records_->in_use = true;
    std::thread thread([step, comm = comm_, records = records_, sends = std::move(sends),
                        receives = std::move(receives), patience] {
      step->status = comm->move(records->stream(), sends, receives, patience);
      step->done = true;
    });
    Status health;
    const auto enqueued = [&] {
      if (step->done) return true;
      health = comm_->health();
      return !health.ok();
    };
    if (!poll(patience, enqueued)) health = comm_->fail(comm_->late(patience));
    if (!step->done) {
      thread.detach();  // stuck until the communicator is aborted
      return health;
    }
    thread.join();
    if (!step->status) return step->status;
    // What is left of the patience is for the stream.
    const auto spent = std::chrono::duration_cast<Milliseconds>(Clock::now() - from);
    const auto left =
        patience.count() == 0 ? patience : std::max(patience - spent, Milliseconds(1));
    Result<bool> finished = false;
    const auto over = [&] {
      health = comm_->health();
      if (!health) return true;
      finished = device_.finished(records_->stream());
      return !finished || *finished;
    };
    if (!poll(left, over)) return comm_->fail(comm_->late(patience));
    if (!health) return health;
    if (!finished) return comm_->fail(finished.status().message());
    records_->in_use = false;
    return {};
  }

  std::shared_ptr<Comm> comm_;
  Device& device_;
  std::shared_ptr<Records> records_;
};

}  // namespace

Result<std::shared_ptr<Transport>> make_nccl(const NcclLibrary& library, void* comm,
                                             Device& device) {
  auto shared = std::make_shared<Comm>(library, comm);
  if (Status s = shared->read(); !s) return s;
  if (const int current = device.current(); current >= 0 && current != shared->device()) {
    return invalid("comm is of device " + std::to_string(shared->device()) +
                   " and the calling thread's current device is " + std::to_string(current) +
                   ": make the communicator's device the current one first");
  }
  return std::shared_ptr<Transport>(std::make_shared<NcclTransport>(std::move(shared), device));
}

}  // namespace detgemm::cluster
