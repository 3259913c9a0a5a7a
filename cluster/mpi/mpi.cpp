// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "detgemm/mpi.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <thread>

#include "cluster/common/host_copies.hpp"

// Every wait is a poll with a deadline, since MPI itself would wait for ever for a rank that is
// gone. After a wait that ran out the communicator is broken: its requests are abandoned, so the
// buffers that they name must stay.

namespace detgemm::cluster {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kTag = 0x6467;  // one tag: MPI keeps the order between two ranks
constexpr std::size_t kPiece = std::size_t{1} << 30;  // bytes per message: an int counts them

std::string text_of(int error) {
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(error, text.data(), &length);
  return {text.data(), static_cast<std::size_t>(length)};
}

Status failed(const std::string& what, int error) {
  return {Errc::peer, "MPI: " + what + ": " + text_of(error)};
}

/// One message and how it went.
struct Message {
  MPI_Request request = MPI_REQUEST_NULL;
  int peer;
  std::size_t bytes;
  bool incoming;
};

class MpiTransport final : public Transport {
 public:
  explicit MpiTransport(MPI_Comm comm) : comm_(comm) {
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &size_);
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
    int length = 0;
    MPI_Get_library_version(text.data(), &length);
    const std::string all(text.data(), static_cast<std::size_t>(length));
    version_ = all.substr(0, all.find_first_of(",\n"));
    std::replace(version_.begin(), version_.end(), '\t', ' ');  // MPICH's
  }
  ~MpiTransport() override {
    int finalized = 0;
    MPI_Finalized(&finalized);
    // Freeing is collective, and a broken group may have lost a rank: then it is left to the
    // process.
    if (finalized == 0 && broken_.ok()) MPI_Comm_free(&comm_);
  }

  std::string description() const override { return version_; }
  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return size_; }
  Status health() override {
    const std::scoped_lock lock(mutex_);
    return broken_;
  }
  void abort() noexcept override {
    const std::scoped_lock lock(mutex_);
    if (broken_.ok()) broken_ = {Errc::peer, "rank " + std::to_string(rank_) + " aborted"};
  }

  Status agree(std::span<const std::byte> mine, std::span<std::byte> all,
               std::chrono::milliseconds patience) override {
    // Plain messages to and from all ranks, so that the absent rank has a name.
    std::vector<Send> sends;
    std::vector<Receive> receives;
    for (int r = 0; r < size_; ++r) {
      auto* const to = all.data() + static_cast<std::size_t>(r) * mine.size();
      if (r == rank_) {
        std::copy(mine.begin(), mine.end(), to);
        continue;
      }
      sends.push_back({r, mine.data(), mine.size()});
      receives.push_back({r, to, mine.size()});
    }
    return move(sends, receives, patience);
  }

  Status exchange(Stream stream, std::span<const Send> sends, std::span<const Receive> receives,
                  std::chrono::milliseconds patience) override {
    if (stream.kind == DeviceKind::host) return move(sends, receives, patience);
    const auto device = device_of(stream.kind);
    if (!device) return device.status();
    std::vector<std::vector<std::byte>> staged;
    std::vector<Send> from_host(sends.begin(), sends.end());
    std::vector<Receive> to_host(receives.begin(), receives.end());
    if (Status s = copy_to_host(**device, stream, from_host, staged); !s) return s;
    for (Receive& receive : to_host) receive.data = staged.emplace_back(receive.bytes).data();
    if (Status s = move(from_host, to_host, patience); !s) {
      static auto* const abandoned =
          new std::vector<std::vector<std::byte>>;  // MPI may write to them
      const std::scoped_lock lock(mutex_);
      std::move(staged.begin(), staged.end(), std::back_inserter(*abandoned));
      return s;
    }
    for (std::size_t i = 0; i < receives.size(); ++i) {
      const Receive& receive = receives[i];
      if (Status s = (*device)->to_device(receive.data, to_host[i].data, receive.bytes); !s)
        return s;
    }
    return {};
  }

 private:
  Status fail(Status why) {
    const std::scoped_lock lock(mutex_);
    if (broken_.ok()) broken_ = std::move(why);
    return broken_;
  }

  Status move(std::span<const Send> sends, std::span<const Receive> receives,
              std::chrono::milliseconds patience) {
    if (Status s = health(); !s) return s;
    std::vector<Message> messages;
    const auto post = [&](int peer, std::byte* data, std::size_t bytes, bool incoming) -> Status {
      for (std::size_t at = 0; at < bytes; at += kPiece) {
        Message& message = messages.emplace_back(
            Message{MPI_REQUEST_NULL, peer, std::min(kPiece, bytes - at), incoming});
        const int count = static_cast<int>(message.bytes);
        const int error =
            incoming ? MPI_Irecv(data + at, count, MPI_BYTE, peer, kTag, comm_, &message.request)
                     : MPI_Isend(data + at, count, MPI_BYTE, peer, kTag, comm_, &message.request);
        if (error != MPI_SUCCESS) return fail(failed("posting a message", error));
      }
      return {};
    };
    for (const Receive& r : receives) {
      if (Status s = post(r.from, static_cast<std::byte*>(r.data), r.bytes, true); !s) return s;
    }
    for (const Send& one : sends) {
      auto* const data = const_cast<std::byte*>(static_cast<const std::byte*>(one.data));
      if (Status s = post(one.to, data, one.bytes, false); !s) return s;
    }
    return wait(messages, patience);
  }

  Status wait(std::vector<Message>& messages, std::chrono::milliseconds patience) {
    const auto from = Clock::now();
    for (int round = 0;; ++round) {
      bool all_done = true;
      for (Message& message : messages) {
        if (message.request == MPI_REQUEST_NULL) continue;
        int done = 0;
        MPI_Status what;
        const int error = MPI_Test(&message.request, &done, &what);
        if (error != MPI_SUCCESS)
          return fail(failed("a message of rank " + std::to_string(message.peer), error));
        all_done = all_done && done != 0;
        if (done == 0 || !message.incoming) continue;
        int count = 0;
        MPI_Get_count(&what, MPI_BYTE, &count);
        if (static_cast<std::size_t>(count) == message.bytes) continue;
        return fail({Errc::peer, "rank " + std::to_string(message.peer) + " sent " +
                                     std::to_string(count) + " bytes and rank " +
                                     std::to_string(rank_) + " expects " +
                                     std::to_string(message.bytes) +
                                     ": the ranks call with different m or different plans"});
      }
      if (all_done) return {};
      if (Status s = health(); !s) return s;
      if (patience.count() != 0 && Clock::now() - from > patience) return late(messages, patience);
      // Ranks may share cores: give them up, and after a while sleep.
      if (round < 1000) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
    }
  }

  Status late(const std::vector<Message>& messages, std::chrono::milliseconds patience) {
    for (const Message& message : messages) {
      if (message.request == MPI_REQUEST_NULL) continue;
      return fail({Errc::peer, "rank " + std::to_string(message.peer) + " of " +
                                   std::to_string(size_) + " did not " +
                                   (message.incoming ? "send" : "receive") + " within " +
                                   std::to_string(patience.count()) + " ms"});
    }
    return {};
  }

  MPI_Comm comm_;
  int rank_ = 0, size_ = 1;
  std::string version_;
  std::mutex mutex_;
  Status broken_;
};

}  // namespace

Result<std::shared_ptr<Transport>> mpi(MPI_Comm comm) {
  int initialized = 0;
  int finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  if (initialized == 0 || finalized != 0) {
    return Status{Errc::unavailable, initialized == 0
                                         ? "MPI is not initialised: call MPI_Init first"
                                         : "MPI is already finalised"};
  }
  if (comm == MPI_COMM_NULL) return invalid("comm is MPI_COMM_NULL: it must be a communicator");
  MPI_Comm own = MPI_COMM_NULL;
  if (const int error = MPI_Comm_dup(comm, &own); error != MPI_SUCCESS) {
    return failed("MPI_Comm_dup", error);
  }
  MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN);
  return std::shared_ptr<Transport>(std::make_shared<MpiTransport>(own));
}

}  // namespace detgemm::cluster
