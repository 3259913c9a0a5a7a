// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/cluster/fake_nccl/streams.hpp"
#include "tests/cluster/wrapped_skeleton.hpp"

// A device whose streams run behind the host, in ordinary memory, and a backend that puts the
// skeleton's products on them.

namespace detgemm::fake {

/// A point that one stream reaches once per replay, and another waits for once per replay.
class Point {
 public:
  void reach() {
    const std::scoped_lock lock(mutex_);
    ++reached_;
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    const int round = ++waited_;
    changed_.wait(lock, [&] { return reached_ >= round; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int reached_ = 0, waited_ = 0;
};

/// A thread that does what is enqueued.
class WorkerStream final : public Stream {
 public:
  WorkerStream() : thread_([this] { run(); }) {}
  ~WorkerStream() override {
    {
      const std::scoped_lock lock(mutex_);
      ends_ = true;
      changed_.notify_all();
    }
    thread_.join();
  }
  void enqueue(Work work) override {
    const std::scoped_lock lock(mutex_);
    if (recording_) return graph_.push_back(std::move(work));
    queue_.push_back(std::move(work));
    changed_.notify_all();
  }
  bool finished() {
    const std::scoped_lock lock(mutex_);
    return queue_.empty() && !busy_;
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return queue_.empty() && !busy_; });
  }
  /// What comes later here waits until `earlier` has come to this point. Where `earlier` is being
  /// captured, this stream joins the capture, as CUDA's do.
  void follow(WorkerStream& earlier) {
    if (earlier.recording() && !recording()) {
      record(true);
      earlier.forked_.push_back(this);
    }
    const auto point = std::make_shared<Point>();
    earlier.enqueue([point] { point->reach(); });
    enqueue([point] { point->wait(); });
  }
  bool recording() {
    const std::scoped_lock lock(mutex_);
    return recording_;
  }
  void record(bool yes) {
    const std::scoped_lock lock(mutex_);
    recording_ = yes;
    if (yes) graph_.clear();
  }
  /// What was captured here and on the streams that joined, whose capture ends.
  std::vector<std::pair<WorkerStream*, std::vector<Work>>> graphs() {
    std::vector<std::pair<WorkerStream*, std::vector<Work>>> all;
    for (WorkerStream* stream : forked_) {
      stream->record(false);
      all.push_back({stream, stream->graph_});
    }
    forked_.clear();
    all.push_back({this, graph_});
    return all;
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return ends_ || !queue_.empty(); });
      if (queue_.empty()) return;
      const Work work = std::move(queue_.front());
      queue_.pop_front();
      busy_ = true;
      lock.unlock();
      work();
      lock.lock();
      busy_ = false;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Work> queue_;
  std::vector<Work> graph_;
  std::vector<WorkerStream*> forked_;  ///< which joined the capture of this one
  bool busy_ = false, recording_ = false, ends_ = false;
  std::thread thread_;  // the last one: it uses the others
};

class FakeDevice final : public Device {
 public:
  DeviceKind kind() const noexcept override { return DeviceKind::cuda; }
  std::string description() const override { return "a stand-in with streams"; }
  Result<void*> allocate(std::size_t bytes) override {
    auto memory = host_device().allocate(bytes);
    if (memory) know(*memory, bytes);
    return memory;
  }
  void release(void* memory) noexcept override {
    forget(memory);
    host_device().release(memory);
  }
  /// Memory of this device that somebody else has made.
  void know(const void* memory, std::size_t bytes) {
    const std::scoped_lock lock(mutex_);
    given_[static_cast<const std::byte*>(memory)] = bytes;
  }
  void forget(const void* memory) {
    const std::scoped_lock lock(mutex_);
    given_.erase(static_cast<const std::byte*>(memory));
  }
  /// ok, or what a real device says of an address in no memory that it has given out; one behind
  /// the last byte is such an address.
  Status check(const std::string& what, const void* data) {
    const std::scoped_lock lock(mutex_);
    const auto* const at = static_cast<const std::byte*>(data);
    const auto after = given_.upper_bound(at);
    if (after != given_.begin() && at < std::prev(after)->first + std::prev(after)->second) {
      return {};
    }
    return invalid(what + ".data is in memory that the stand-in does not know");
  }
  Status to_device(void* to, const void* from, std::size_t bytes) override {
    return host_device().to_device(to, from, bytes);
  }
  Status to_host(void* to, const void* from, std::size_t bytes) override {
    return host_device().to_host(to, from, bytes);
  }
  Result<detgemm::Stream> create_stream() override {
    return detgemm::Stream{DeviceKind::cuda, static_cast<Stream*>(new WorkerStream)};
  }
  void destroy_stream(detgemm::Stream stream) noexcept override { delete &of(stream); }
  Status synchronize(detgemm::Stream stream) override { return of(stream).wait(), Status{}; }
  Result<bool> finished(detgemm::Stream stream) override { return of(stream).finished(); }
  bool orders_streams() const noexcept override { return true; }
  Status follow(detgemm::Stream later, detgemm::Stream earlier) override {
    of(later).follow(of(earlier));
    return {};
  }
  int current() const override { return ordinal; }
  bool has_graphs() const noexcept override { return true; }
  Status replay(detgemm::Stream stream, const std::function<Status(detgemm::Stream)>& enqueue,
                int times) override {
    WorkerStream& on = of(stream);
    on.record(true);
    const Status status = enqueue(stream);
    on.record(false);
    const auto graphs = on.graphs();
    if (!status) return status;
    for (int i = 0; i < times; ++i) {
      for (const auto& [stream_of_it, graph] : graphs) {
        for (const Stream::Work& work : graph) stream_of_it->enqueue(work);
      }
    }
    return synchronize(stream);
  }
  static WorkerStream& of(detgemm::Stream stream) {
    return static_cast<WorkerStream&>(*static_cast<Stream*>(stream.handle));
  }

  int ordinal = 0;

 private:
  std::mutex mutex_;
  std::map<const std::byte*, std::size_t> given_;  ///< and not given back
};

inline FakeDevice& device() {
  static FakeDevice one;
  return one;
}

/// The skeleton's plans, each of whose runs is work on the stream.
class StreamPlan final : public PlanImpl {
 public:
  explicit StreamPlan(std::shared_ptr<const PlanImpl> inner) : inner_(std::move(inner)) {}
  std::size_t workspace_bytes(std::int64_t m) const override { return inner_->workspace_bytes(m); }
  Status run(detgemm::Stream stream, const Operands& operands, Workspace workspace,
             RunInfo*) const override {
    const bool reads = operands.a.rows > 0 && operands.a.cols > 0;
    if (Status s = reads ? device().check("a", operands.a.data) : Status{}; !s) return s;
    if (Status s = reads ? device().check("b", operands.b.data) : Status{}; !s) return s;
    if (Status s = check(operands, workspace); !s) return s;
    FakeDevice::of(stream).enqueue([inner = inner_, operands, workspace] {
      static_cast<void>(inner->run({}, operands, workspace, nullptr));
    });
    return {};
  }
  Status combine(detgemm::Stream stream, std::span<const TreeRoot> roots, const Operands& operands,
                 Workspace workspace, RunInfo*) const override {
    for (const TreeRoot& root : roots) {
      if (Status s = device().check("root", root.root.data); !s) return s;
    }
    if (Status s = check(operands, workspace); !s) return s;
    FakeDevice::of(stream).enqueue(
        [inner = inner_, all = std::vector<TreeRoot>(roots.begin(), roots.end()), operands,
         workspace] { static_cast<void>(inner->combine({}, all, operands, workspace, nullptr)); });
    return {};
  }
  std::string kernel(std::int64_t m) const override { return inner_->kernel(m); }

 private:
  static Status check(const Operands& operands, Workspace workspace) {
    if (Status s = device().check("d", operands.d.data); !s) return s;
    return workspace.data == nullptr ? Status{} : device().check("workspace", workspace.data);
  }
  std::shared_ptr<const PlanImpl> inner_;
};

inline const Backend& backend() {
  static const test::WrappedSkeleton one("stand-in", device(), [](auto inner) {
    return std::make_shared<StreamPlan>(std::move(inner));
  });
  return one;
}

}  // namespace detgemm::fake
