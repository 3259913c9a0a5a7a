// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conformance/conversation.hpp"

#include <algorithm>
#include <utility>

namespace detgemm::conformance {
namespace {

/// A cell that no worker runs at this place, or a number that is none of a case.
struct OutOfTurn {};

constexpr std::int64_t kMaxCase = std::int64_t{1} << 40;

/// A number of a case or a cell.
std::int64_t number_in(const Json& json) {
  const std::int64_t number = json.get_ref<const Json::number_integer_t&>();
  if (number < 0 || number > kMaxCase) throw OutOfTurn{};
  return number;
}

}  // namespace

bool Conversation::take(const char* bytes, std::size_t count) try {
  text_.append(bytes, count);
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = text_.find('\n', begin)) != std::string::npos; begin = end + 1) {
    hear(Json::parse(text_.begin() + static_cast<std::ptrdiff_t>(begin),
                     text_.begin() + static_cast<std::ptrdiff_t>(end)));
  }
  text_.erase(0, begin);
  return text_.size() <= kLongestLine;
} catch (const Json::exception&) {
  return false;
} catch (const OutOfTurn&) {
  return false;
}

void Conversation::lose(const std::string& how) {
  cell_.verdict = Verdict::failed;
  cell_.reason = how + (case_ < 0 ? "" : " in case " + std::to_string(case_));
  cell_.cases = std::max<std::int64_t>(cell_.cases, case_ + 1);
  cell_.seconds = std::chrono::duration<double>(Clock::now() - cell_began_).count();
  const std::int64_t at = std::max<std::int64_t>(case_, 0);
  cell_.failures.insert(cell_.failures.begin(), {at, how, problem_, -1, -1, "", "",
                                                 repro_ + " --case " + std::to_string(at)});
  finish();
}

void Conversation::restart(std::size_t first) {
  last_sign_ = Clock::now();
  text_.clear();
  refusal_.reset();
  next_ = next_of(share_, first);
}

void Conversation::hear(const Json& said) {
  const std::string what = said.at("is");
  // Problems within a case do not count: a case has one time limit.
  if (what != "problem") last_sign_ = Clock::now();
  if (what == "start") {
    if (!started_) {
      report_ = facts_from_json(said.at("report"));
      const bool again = announced_ != nullptr && std::exchange(*announced_, true);
      if (observer_ != nullptr && !again) observer_->on_start(report_);
    }
    started_ = true;
  } else if (what == "cell") {
    const auto index = static_cast<std::size_t>(number_in(said.at("index")));
    if (in_cell_ || index != next_)
      throw OutOfTurn{};  // a worker runs every cell of its share, in order
    Cell cell = cell_from_json(said.at("cell"));
    repro_ = said.at("repro");
    cell_ = std::move(cell);
    index_ = index;
    case_ = -1;
    problem_.clear();
    in_cell_ = true;
    cell_began_ = Clock::now();
    if (observer_ != nullptr) observer_->on_cell(index_, cell_, repro_);
  } else if (what == "case") {
    case_ = number_in(said.at("case"));
    problem_.clear();
    if (observer_ != nullptr) observer_->on_case(case_);
  } else if (what == "problem") {
    const std::string problem = said.at("text");
    problem_ += (problem_.empty() ? "" : "; ") + problem;
    if (observer_ != nullptr) observer_->on_problem(problem);
  } else if (what == "failure") {
    cell_ = cell_from_json(said.at("cell"));
    if (observer_ != nullptr) observer_->on_failure(cell_);
  } else if (what == "finished") {
    if (!in_cell_) throw OutOfTurn{};
    cell_ = cell_from_json(said.at("cell"));
    finish();
  } else if (what == "refusal") {
    const std::int64_t code = number_in(said.at("code"));
    if (code == 0 || code > static_cast<std::int64_t>(Errc::peer)) throw OutOfTurn{};
    refusal_ = Status{static_cast<Errc>(code), said.at("text")};
  } else if (what == "end") {
    ended_ = true;
  }
}

void Conversation::finish() {
  in_cell_ = false;
  next_ = next_of(share_, index_ + 1);
  if (observer_ != nullptr) observer_->on_finished(index_, cell_);
  report_.cells.push_back(std::move(cell_));
  cell_ = {};
}

}  // namespace detgemm::conformance
