// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conformance/worker.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "core/conformance/json.hpp"

namespace detgemm::conformance {
namespace {

constexpr int kHighDescriptor = 200;  // an engine that closes what it did not open starts at 3
constexpr int kLostVoice = 99;        // exit code of a worker that cannot speak

/// Writes to the pipe what happens.
class Speaker final : public Observer {
 public:
  explicit Speaker(int pipe) : pipe_(pipe) {}

  void say(const Json& json) const {
    const std::string line = line_of(json) + "\n";
    const char* next = line.data();
    for (std::size_t left = line.size(); left > 0;) {
      const ssize_t count = write(pipe_, next, left);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) _exit(kLostVoice);
      next += count;
      left -= static_cast<std::size_t>(count);
    }
  }

  void on_start(const Report& report) override {
    say({{"is", "start"}, {"report", facts_to_json(report)}});
  }
  void on_cell(std::size_t index, const Cell& cell, const std::string& repro) override {
    say({{"is", "cell"}, {"index", index}, {"cell", to_json(cell)}, {"repro", repro}});
  }
  void on_case(std::int64_t index) override { say({{"is", "case"}, {"case", index}}); }
  void on_problem(const std::string& text) override { say({{"is", "problem"}, {"text", text}}); }
  void on_failure(const Cell& cell) override { say({{"is", "failure"}, {"cell", to_json(cell)}}); }
  void on_finished(std::size_t, const Cell& cell) override {
    say({{"is", "finished"}, {"cell", to_json(cell)}});
  }
  void refuse(const Status& status) const {
    say({{"is", "refusal"}, {"code", static_cast<int>(status.code())}, {"text", status.message()}});
  }

 private:
  int pipe_;
};

/// What the process is called while it runs: an engine that asks for its own name is not told that
/// it is tested.
constexpr const char* kPlainName = "app";

/// A process group of its own, no terminal, no core files by the hundred, and no life after the
/// parent's.
void settle(pid_t parent, bool cores) {
  setpgid(0, 0);
#ifdef __linux__
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_NAME, kPlainName);
  if (getppid() != parent) _exit(kLostVoice);
#else
  static_cast<void>(parent);
#endif
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, SIG_DFL);
  std::signal(SIGPIPE, SIG_IGN);
  if (!cores) {
    const rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);
  }
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing >= 0) dup2(nothing, STDIN_FILENO);
  dup2(STDERR_FILENO, STDOUT_FILENO);  // what an engine prints is no part of a report
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
}

[[noreturn]] void work(const Options& options, const std::function<Result<Candidate>()>& load,
                       int pipe) {
  Speaker speaker(pipe);
  try {
    auto candidate = load();
    if (!candidate) {
      speaker.refuse(candidate.status());
      _exit(0);
    }
    Options mine = options;
    mine.engine = candidate->engine;
    mine.oracle = candidate->oracle;
    mine.observer = &speaker;
    const auto report = run_conformance(mine);
    if (report) {
      speaker.say({{"is", "end"}});
    } else {
      speaker.refuse(report.status());
    }
  } catch (const std::bad_alloc&) {
    speaker.refuse({Errc::internal, "host memory is exhausted"});
  } catch (const std::exception& error) {
    speaker.refuse({Errc::internal, error.what()});
  }
  // Without the engine's own last words: destructors and functions that exit() would call.
  _exit(0);
}

Status failed(const char* what) {
  return {Errc::internal, std::string(what) + ": " + std::strerror(errno)};
}

}  // namespace

Result<Worker> start_worker(const Options& options,
                            const std::function<Result<Candidate>()>& load) {
  int ends[2];
  if (pipe(ends) != 0) return failed("a pipe to a worker process could not be made");
  const int speaking = fcntl(ends[1], F_DUPFD_CLOEXEC, kHighDescriptor);
  close(ends[1]);
  fcntl(ends[0], F_SETFD, FD_CLOEXEC);
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  std::fflush(nullptr);  // or both processes would print what is buffered
  const pid_t parent = getpid();
  const pid_t pid = speaking < 0 ? -1 : fork();
  if (pid < 0) {
    const Status status = failed("a worker process could not be started");
    close(ends[0]);
    if (speaking >= 0) close(speaking);
    return status;
  }
  if (pid == 0) {
    close(ends[0]);
    settle(parent, options.only_case.has_value());
    work(options, load, speaking);
  }
  close(speaking);
  setpgid(pid, pid);  // here too: whoever comes first
  return Worker{pid, ends[0]};
}

void end_worker(const Worker& worker) {
  kill(-worker.pid, SIGKILL);
  waitpid(worker.pid, nullptr, 0);  // nothing to wait for where it has been seen to end
  close(worker.pipe);
}

}  // namespace detgemm::conformance
