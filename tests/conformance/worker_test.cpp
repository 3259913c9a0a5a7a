// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conformance/worker.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "core/conformance/controls/control.hpp"
#include "detgemm/conformance.hpp"

// Worker processes leave nothing behind. What engines do to them is tested by hostile.py.

namespace detgemm::conformance {
namespace {

std::ptrdiff_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return std::distance(begin(all), end(all));
}

TEST(Worker, LeavesNoDescriptorOpen) {
  if (!std::filesystem::exists("/proc/self/fd")) GTEST_SKIP() << "there is no /proc here";
  Options options;
  options.contracts = {*Contract::parse("ieee_fma/fp32/chain->fp32")};
  options.properties = {"run_to_run"};
  const auto before = open_descriptors();
  const auto report = run_isolated(options, {}, []() -> Result<Candidate> {
    return Candidate{&controls::honest(), {&controls::honest(), {}}, nullptr};
  });
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_TRUE(report->passed());
  EXPECT_EQ(open_descriptors(), before);
}

TEST(Worker, ItsPipeIsReadWithoutWaitingAndInheritedByNobody) {
  Options options;
  options.contracts = {*Contract::parse("ieee_fma/fp32/chain->fp32")};
  options.properties = {"run_to_run"};
  const auto worker = start_worker(options, []() -> Result<Candidate> {
    return Status{Errc::not_found, "none"};
  });
  ASSERT_TRUE(worker.ok()) << worker.status().message();
  EXPECT_NE(fcntl(worker->pipe, F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_NE(fcntl(worker->pipe, F_GETFL) & O_NONBLOCK, 0);
  end_worker(*worker);
}

TEST(Worker, ARefusalOfTheCandidateIsTheRunsAndLeavesNothingEither) {
  Options options;
  options.contracts = {*Contract::parse("ieee_fma/fp32/chain->fp32")};
  const auto before = open_descriptors();
  const auto report = run_isolated(options, {}, []() -> Result<Candidate> {
    return Status{Errc::not_found, "no engine of that name"};
  });
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.status().code(), Errc::not_found);
  EXPECT_EQ(report.status().message(), "no engine of that name");
  EXPECT_EQ(open_descriptors(), before);
}

}  // namespace
}  // namespace detgemm::conformance
