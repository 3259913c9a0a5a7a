// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <charconv>
#include <cstring>

#include "cluster/common/state.hpp"

// Every rank sends one record of fixed size and reads all of them in rank order, so that all reach
// the same answer. A rank that cannot take part sends its sentence in place of facts, and no
// rank waits for it.
//
//   record:  "detgemm agreement 1" LF  { name TAB value LF }          or
//            "detgemm agreement 1" LF  "refusal" TAB code LF sentence

namespace detgemm::cluster {
namespace {

constexpr std::size_t kRecordBytes = 8192;
constexpr std::string_view kMagic = "detgemm agreement 1\n";
constexpr std::string_view kRefusal = "refusal\t";

std::string record_of(const Status& mine, const Facts& facts) {
  std::string text(kMagic);
  if (!mine.ok()) {
    text += std::string(kRefusal) + std::to_string(static_cast<int>(mine.code())) + "\n" +
            mine.message();
  } else {
    for (const auto& [name, value] : facts) text += name + "\t" + value + "\n";
  }
  text.resize(std::min(text.size(), kRecordBytes - 1));
  return text;
}

/// The refusal in a record's text after its first line.
Status refusal_in(std::string_view rest, int rank) {
  rest.remove_prefix(kRefusal.size());
  int code = 0;
  const auto line = std::min(rest.find('\n'), rest.size());
  std::from_chars(rest.data(), rest.data() + line, code);
  rest.remove_prefix(std::min(line + 1, rest.size()));
  const bool known = code >= 1 && code <= static_cast<int>(Errc::peer);
  return {known ? static_cast<Errc>(code) : Errc::peer,
          "rank " + std::to_string(rank) + " refuses: " + std::string(rest)};
}

/// One line of facts, taken off the front of `text`.
std::pair<std::string_view, std::string_view> take_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  const auto tab = std::min(line.find('\t'), line.size());
  return {line.substr(0, tab), line.substr(std::min(tab + 1, line.size()))};
}

Status difference(std::string_view first, std::string_view other, int rank) {
  while (!first.empty() || !other.empty()) {
    const auto [name, value] = take_line(first);
    const auto [other_name, other_value] = take_line(other);
    if (name == other_name && value == other_value) continue;
    return invalid("ranks disagree: rank " + std::to_string(rank) + " has " +
                   std::string(other_name) + " " + std::string(other_value) + " and rank 0 has " +
                   std::string(name) + " " + std::string(value) + ": it must be the same on all");
  }
  return {};
}

}  // namespace

Status agree(Communicator::State& state, const Status& mine, const Facts& facts) {
  if (Status s = state.health(); !s) return s;
  const auto ranks = static_cast<std::size_t>(state.transport->size());
  std::vector<std::byte> record(kRecordBytes);
  std::vector<std::byte> all(kRecordBytes * ranks);
  const std::string text = record_of(mine, facts);
  std::memcpy(record.data(), text.data(), text.size());
  if (Status s = state.after(state.transport->agree(record, all, state.options.patience)); !s) {
    return s;
  }
  std::vector<std::string_view> texts;
  for (std::size_t r = 0; r < ranks; ++r) {
    const auto* begin = reinterpret_cast<const char*>(all.data() + r * kRecordBytes);
    std::string_view one(begin, strnlen(begin, kRecordBytes));
    if (one.substr(0, kMagic.size()) != kMagic) {
      return invalid("ranks disagree: rank " + std::to_string(r) +
                     " uses another version of detgemm");
    }
    texts.push_back(one.substr(kMagic.size()));
  }
  for (std::size_t r = 0; r < ranks; ++r) {
    if (texts[r].substr(0, kRefusal.size()) == kRefusal) {
      return refusal_in(texts[r], static_cast<int>(r));
    }
  }
  for (std::size_t r = 1; r < ranks; ++r) {
    if (Status s = difference(texts[0], texts[r], static_cast<int>(r)); !s) return s;
  }
  return {};
}

}  // namespace detgemm::cluster
