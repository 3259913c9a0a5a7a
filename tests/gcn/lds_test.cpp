// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Local memory: which orders of accesses by several waves are races, and which are not.

#include "tests/gcn/emulator/lds.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace detgemm::gcn {
namespace {

/// Three waves with one active lane each, which access one word or part of it.
class LdsOrder : public ::testing::Test {
 protected:
  LdsOrder() {
    for (int i = 0; i < 3; ++i) {
      waves_.push_back(std::make_unique<Wave>());
      waves_.back()->reset();
      waves_.back()->index = i;
      waves_.back()->set(kExec, 2, 1);
    }
    lds_->reset(64);
  }
  Wave& wave(int i) { return *waves_[static_cast<std::size_t>(i)]; }

  u32 read(int i, u32 at = 0, int bytes = 4) {
    const u32 address[kLanes] = {at};
    u32 out[1][kLanes] = {};
    lds_->read(wave(i), address, bytes, out, wave(i).issue(kLgkm));
    return out[0][0];
  }
  void write(int i, u32 value, u32 at = 0, int bytes = 4) {
    const u32 address[kLanes] = {at};
    const u32 rows[1][kLanes] = {{value}};
    lds_->write(wave(i), address, bytes, rows, wave(i).issue(kLgkm));
  }
  void wait(int i) { wave(i).wait(kLgkm, 0); }
  void barrier() { lds_->barrier(waves_); }
  /// All waves wait for their accesses and meet.
  void meet() {
    for (int i = 0; i < 3; ++i) wait(i);
    barrier();
  }
  /// The message about an access; empty where nothing is found.
  static std::string said(const std::function<void()>& access) {
    try {
      access();
    } catch (const Fault& f) {
      return f.what();
    }
    return "";
  }
  static constexpr const char* kReadAfter = "is read with no barrier after a completed write";
  static constexpr const char* kOverRead = "is overwritten with no barrier after a completed read";
  static constexpr const char* kOverWrite =
      "is overwritten with no barrier after a completed write";

  std::vector<std::unique_ptr<Wave>> waves_;
  std::unique_ptr<Lds> lds_ = std::make_unique<Lds>();
};

TEST_F(LdsOrder, AWaveSeesItsOwn) {
  write(0, 5);
  EXPECT_EQ(read(0), 5U);
  write(0, 6);
  EXPECT_EQ(read(0), 6U);
}

TEST_F(LdsOrder, ABarrierAfterTheWaitReleasesAWrite) {
  write(0, 5);
  EXPECT_NE(said([&] { read(1); }).find(kReadAfter), std::string::npos);
  barrier();  // not waited for
  EXPECT_NE(said([&] { read(1); }).find(kReadAfter), std::string::npos);
  EXPECT_NE(said([&] { write(1, 6); }).find(kOverWrite), std::string::npos);
  wait(0);
  barrier();
  EXPECT_EQ(read(1), 5U);
}

TEST_F(LdsOrder, ABarrierAfterTheWaitReleasesARead) {
  write(0, 5);
  meet();
  EXPECT_EQ(read(1), 5U);
  write(2, 9, 4);  // another word
  EXPECT_NE(said([&] { write(0, 6); }).find(kOverRead), std::string::npos);
  wait(0), wait(2);
  barrier();  // wave 1 did not wait
  EXPECT_NE(said([&] { write(0, 6); }).find("read by wave 1, is overwritten"), std::string::npos);
  EXPECT_EQ(read(0, 4), 9U);  // which holds back no write
  wait(1);
  barrier();
  write(0, 6);
}

TEST_F(LdsOrder, SeveralReaders) {
  write(0, 5);
  meet();
  read(1), read(2);
  EXPECT_NE(said([&] { write(1, 6); }).find("read by several waves"), std::string::npos);
  wait(1);
  barrier();  // wave 2 did not wait; wave 1 is the last that read
  EXPECT_NE(said([&] { write(1, 6); }).find(kOverRead), std::string::npos);
  meet();
  write(1, 6);
  read(1);
  write(1, 7);
}

TEST_F(LdsOrder, WavesMayWriteDifferentBytesOfAWord) {
  write(0, 0x1111, 0, 2);
  write(1, 0x2222, 2, 2);
  EXPECT_NE(said([&] { write(2, 3, 0, 2); }).find(kOverWrite), std::string::npos);
  EXPECT_NE(said([&] { read(0); }).find("written by several waves"), std::string::npos);
  meet();
  EXPECT_EQ(read(2), 0x22221111U);
  EXPECT_EQ(read(2, 2, 2), 0x2222U);
}

TEST_F(LdsOrder, AWriteThatChangesNothingMayFollowAnothers) {
  write(0, 5);
  write(1, 5);
  write(1, 5, 0, 2);
  EXPECT_NE(said([&] { write(2, 6); }).find(kOverWrite), std::string::npos);
  for (const int reader : {0, 1, 2})
    EXPECT_NE(said([&] { read(reader); }).find("written by several waves"), std::string::npos);
  meet();
  EXPECT_EQ(read(2), 5U);
  EXPECT_NE(said([&] { write(0, 5); }).find(kOverRead), std::string::npos);
}

TEST_F(LdsOrder, ButNotOfOneThatIsWrittenWhole) {
  write(0, 5);
  write(0, 0x1111, 0, 2);
  EXPECT_NE(said([&] { write(1, 0x2222, 2, 2); }).find(kOverWrite), std::string::npos);
}

TEST_F(LdsOrder, UnwrittenBytes) {
  EXPECT_NE(said([&] { read(0); }).find("reads unwritten LDS"), std::string::npos);
  write(0, 0x1111, 0, 2);
  EXPECT_EQ(read(0, 0, 2), 0x1111U);
  EXPECT_NE(said([&] { read(0, 2, 2); }).find("reads unwritten LDS"), std::string::npos);
  EXPECT_NE(said([&] { read(0); }).find("reads unwritten LDS"), std::string::npos);
  write(0, 0x2222, 2, 2);
  EXPECT_EQ(read(0), 0x22221111U);
}

}  // namespace
}  // namespace detgemm::gcn
