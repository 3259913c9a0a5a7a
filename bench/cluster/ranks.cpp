// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/cluster/ranks.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>

namespace detgemm::bench {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

/// Lies in memory that all ranks share, so it holds no pointers.
struct Ranks::Shared {
  std::atomic<int> arrived = 0;
  std::atomic<unsigned> round = 0;
  std::atomic<int> failing = 0;  ///< taken by who writes the sentence
  std::atomic<bool> failed = false;
  char sentence[512] = {};
  double values[kMax][kValues] = {};
  std::uint64_t words[kMax] = {};
  std::byte first[128] = {};

  /// The first failure of any rank.
  void fail(const std::string& why) {
    if (failing.exchange(1) != 0) return;
    std::strncpy(sentence, why.c_str(), sizeof sentence - 1);
    failed = true;
  }
};

namespace {

constexpr auto kPatience = 120s;
constexpr auto kGrace = 10s;  // from the first failure until the others are killed

int run_body(Ranks::Shared& shared, int rank, int ranks, const RankBody& body) {
  const std::string self = "rank " + std::to_string(rank) + " of " + std::to_string(ranks);
  try {
    Ranks own(shared, rank, ranks);
    const int code = body(own);
    if (code != 0) shared.fail(self + " failed with code " + std::to_string(code));
    return code;
  } catch (const std::exception& error) {
    shared.fail(self + ": " + error.what());
    return 1;
  }
}

struct Unmap {
  void operator()(Ranks::Shared* shared) const { munmap(shared, sizeof *shared); }
};

std::unique_ptr<Ranks::Shared, Unmap> share() {
  void* const memory = mmap(nullptr, sizeof(Ranks::Shared), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::runtime_error("no memory to share between ranks");
  return std::unique_ptr<Ranks::Shared, Unmap>(new (memory) Ranks::Shared);
}

int verdict(const Ranks::Shared& shared) {
  if (!shared.failed) return 0;
  std::fprintf(stderr, "%s\n", shared.sentence);
  return 1;
}

void check_count(int ranks) {
  if (ranks < 1 || ranks > Ranks::kMax) {
    throw std::invalid_argument("ranks is " + std::to_string(ranks) + ": it must be from 1 to " +
                                std::to_string(Ranks::kMax));
  }
}

std::string how_it_ended(int status) {
  return WIFSIGNALED(status) ? "was ended by signal " + std::to_string(WTERMSIG(status))
                             : "ended with code " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

void Ranks::meet() {
  const unsigned round = shared_.round;
  if (shared_.arrived.fetch_add(1) + 1 == size_) {
    shared_.arrived = 0;
    ++shared_.round;
  }
  const auto from = Clock::now();
  for (int turn = 0; shared_.round == round; ++turn) {
    if (shared_.failed) throw std::runtime_error("another rank failed");
    if (Clock::now() - from > kPatience) throw std::runtime_error("the other ranks did not come");
    if (turn < 2000) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(50us);
    }
  }
}

std::vector<double> Ranks::largest(const std::vector<double>& mine) {
  if (mine.size() > kValues) throw std::logic_error("too many values for one exchange");
  std::copy(mine.begin(), mine.end(), shared_.values[rank_]);
  meet();
  std::vector<double> all(mine.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i] = shared_.values[0][i];
    for (int r = 1; r < size_; ++r) all[i] = std::max(all[i], shared_.values[r][i]);
  }
  meet();  // before anybody writes again
  return all;
}

std::vector<std::uint64_t> Ranks::gather(std::uint64_t mine) {
  shared_.words[rank_] = mine;
  meet();
  std::vector<std::uint64_t> all(shared_.words, shared_.words + size_);
  meet();
  return all;
}

std::array<std::byte, 128> Ranks::from_first(const std::array<std::byte, 128>& mine) {
  if (rank_ == 0) std::copy(mine.begin(), mine.end(), shared_.first);
  meet();
  std::array<std::byte, 128> got;
  std::copy(std::begin(shared_.first), std::end(shared_.first), got.begin());
  meet();
  return got;
}

int run_as_threads(int ranks, const RankBody& body) {
  check_count(ranks);
  const auto shared = share();
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r) {
    threads.emplace_back([&, r] { run_body(*shared, r, ranks, body); });
  }
  for (std::thread& thread : threads) thread.join();
  return verdict(*shared);
}

int ask_in_a_process(int (*question)()) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) _exit(question());
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) return 0;
  return WEXITSTATUS(status);
}

int run_as_processes(int ranks, const RankBody& body) {
  check_count(ranks);
  const auto shared = share();
  std::fflush(nullptr);
  std::vector<pid_t> running;
  for (int r = 0; r < ranks; ++r) {
    const pid_t child = fork();
    if (child < 0) {
      shared->fail("rank " + std::to_string(r) + " could not be started");
      break;
    }
    if (child == 0) {
      const int code = run_body(*shared, r, ranks, body);
      std::fflush(nullptr);
      _exit(code);
    }
    running.push_back(child);
  }
  Clock::time_point failed_at{};
  while (std::any_of(running.begin(), running.end(), [](pid_t p) { return p != 0; })) {
    for (std::size_t r = 0; r < running.size(); ++r) {
      int status = 0;
      if (running[r] == 0 || waitpid(running[r], &status, WNOHANG) != running[r]) continue;
      running[r] = 0;
      if (status != 0) shared->fail("rank " + std::to_string(r) + " " + how_it_ended(status));
    }
    if (shared->failed && failed_at == Clock::time_point{}) failed_at = Clock::now();
    if (shared->failed && Clock::now() - failed_at > kGrace) {
      for (const pid_t child : running) {
        if (child != 0) kill(child, SIGKILL);
      }
    }
    std::this_thread::sleep_for(5ms);
  }
  return verdict(*shared);
}

}  // namespace detgemm::bench
