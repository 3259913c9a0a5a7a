// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/gcn/emulator/global.hpp"

namespace detgemm::gcn {

void GlobalShadow::Page::refine(u32 to) {
  for (std::vector<u64>* units : {&reader, &writer}) {
    std::vector<u64> finer;
    for (const u64 unit : *units) finer.insert(finer.end(), std::size_t{1} << (shift - to), unit);
    units->swap(finer);
  }
  shift = to;
}

void GlobalAccess::start(u64 workgroup) {
  group_ = workgroup + 1;
  reads_.reset();
  writes_.reset();
}

void GlobalAccess::barrier(const std::vector<std::unique_ptr<Wave>>& waves) {
  reads_.barrier(waves);
  writes_.barrier(waves);
}

void GlobalAccess::refuse(u64 access, const char* was, const char* is, int lane) const {
  const auto tag = static_cast<u32>(access);
  std::string whom = "several workgroups";
  if (access != kSeveralGroups) whom = "workgroup " + std::to_string((access >> 32) - 1);
  const bool own = access >> 32 == group_;
  if (own) whom = Order::by_whom(tag);
  throw Fault("race in global memory: bytes that " + whom + " " + was + " are " + is +
                  (own ? " with no barrier after a completed access" : " in the same launch"),
              lane);
}

void GlobalAccess::note_read(u64& reader, u64 access, u32 limit) const {
  if (reader == kSeveralGroups) return;
  const auto tag = static_cast<u32>(reader);
  const bool group = reader == kNobody || reader >> 32 == group_;
  const bool wave = tag <= limit || Order::wave_of(tag ^ static_cast<u32>(access)) == 0;
  reader = !group ? kSeveralGroups : wave ? access : access | Order::kSeveral << 3;
}

void GlobalAccess::read(Wave& w, u64 lanes, const u64* address, int bytes, u32 mark) {
  const auto lock = shadow_.lock();
  const u64 access = group_ << 32 | reads_.stamped(w, mark);
  const u32 limit = reads_.limit();
  for (; lanes != 0; lanes &= lanes - 1) {
    const int l = std::countr_zero(lanes);
    each(address[l], static_cast<u64>(bytes), [&](GlobalShadow::Page& p, u64 u) {
      if (p.written() && !ordered(w, writes_, p.writer[u])) refuse(p.writer[u], "wrote", "read", l);
      note_read(p.reader[u], access, limit);
    });
  }
}

void GlobalAccess::read_scalar(Wave& w, u64 address, int bytes, u32 mark) {
  const auto lock = shadow_.lock();
  const u64 access = group_ << 32 | reads_.stamped(w, mark);
  each(address, static_cast<u64>(bytes), [&](GlobalShadow::Page& p, u64 u) {
    require(!p.written() || p.writer[u] == kNobody,
            "reads by a scalar load what the same launch wrote");
    note_read(p.reader[u], access, reads_.limit());
  });
}

void GlobalAccess::write(Wave& w, u64 lanes, const u64* address, int bytes, u32 mark) {
  const auto lock = shadow_.lock();
  const u64 access = group_ << 32 | writes_.stamped(w, mark);
  for (; lanes != 0; lanes &= lanes - 1) {
    const int l = std::countr_zero(lanes);
    each(address[l], static_cast<u64>(bytes), [&](GlobalShadow::Page& p, u64 u) {
      if (!p.written()) p.writer.resize(p.reader.size());
      if (!ordered(w, reads_, p.reader[u])) refuse(p.reader[u], "read", "overwritten", l);
      if (!ordered(w, writes_, p.writer[u])) refuse(p.writer[u], "wrote", "overwritten", l);
      p.writer[u] = access;
    });
  }
}

}  // namespace detgemm::gcn
