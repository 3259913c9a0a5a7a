// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "dropin/counts.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <functional>
#include <mutex>

#include "dropin/log_line.hpp"

namespace detgemm::dropin {
namespace {

/// One row of the table. Its text is written once, before `ready`; a signal handler may then print
/// it at any time, since nothing but the count changes.
struct Row {
  std::atomic<bool> ready{false};
  std::atomic<std::uint64_t> calls{0};
  std::size_t hash = 0;
  const char* function = nullptr;
  const char* direction = nullptr;
  const char* shape = nullptr;
  Fate fate = Fate::taken;
  std::array<char, 64> contract{};
  std::array<char, 200> said{};  ///< the kernel, or why there was none
};

constexpr std::size_t kRows = 1024;
std::array<Row, kRows> rows;
std::atomic<std::size_t> used{0};
std::atomic<std::uint64_t> beyond{0};  ///< calls that found no free row
std::mutex adding;
int log_descriptor = -1;

void copy(std::string_view text, char* out, std::size_t size) {
  const std::size_t length = std::min(text.size(), size - 1);
  if (length > 0) std::memcpy(out, text.data(), length);
  out[length] = '\0';
}

std::string_view said_of(const Event& event) {
  return (event.fate == Fate::taken ? event.kernel : event.why).substr(0, 199);
}

std::size_t hash_of(const Event& event, const char* shape) {
  const std::hash<std::string_view> text;
  std::size_t hash = text(said_of(event)) * 31 + text(event.contract);
  for (const void* pointer :
       {static_cast<const void*>(event.function), static_cast<const void*>(event.direction),
        static_cast<const void*>(shape)}) {
    hash = hash * 1099511628211ULL + reinterpret_cast<std::uintptr_t>(pointer);
  }
  return hash * 8 + static_cast<std::size_t>(event.fate);
}

bool same(const Row& row, const Event& event, const char* shape, std::size_t hash) {
  return row.hash == hash && row.function == event.function && row.shape == shape &&
         row.direction == event.direction && row.fate == event.fate &&
         event.contract == row.contract.data() && said_of(event) == row.said.data();
}

/// The row of an event, made where there is none; null where the table is full.
Row* row_of(const Event& event, bool& made) {
  const char* shape = shape_class(event.m);
  const std::size_t hash = hash_of(event, shape);
  // A thread meets the same rows again and again; this spares it the walk.
  thread_local std::array<Row*, 64> recent{};
  Row*& guess = recent[hash % recent.size()];
  if (guess != nullptr && guess->ready.load(std::memory_order_acquire) &&
      same(*guess, event, shape, hash)) {
    return guess;
  }
  const std::lock_guard lock(adding);
  const std::size_t count = used.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < count; ++i) {
    if (same(rows[i], event, shape, hash)) return guess = &rows[i];
  }
  if (count == kRows) return nullptr;
  Row& row = rows[count];
  row.hash = hash;
  row.function = event.function;
  row.direction = event.direction;
  row.shape = shape;
  row.fate = event.fate;
  copy(event.contract, row.contract.data(), row.contract.size());
  copy(said_of(event), row.said.data(), row.said.size());
  row.calls.store(0, std::memory_order_relaxed);
  row.ready.store(true, std::memory_order_release);
  used.store(count + 1, std::memory_order_release);
  made = true;
  return guess = &row;
}

/// A line that is put together without the heap, locale or stdio.
struct Line {
  std::array<char, 512> text{};
  std::size_t size = 0;

  void put(const char* word, std::size_t width = 0) {
    std::size_t length = std::min(std::strlen(word), text.size() - 2 - size);
    std::memcpy(text.data() + size, word, length);
    size += length;
    for (; length < width && size + 2 < text.size(); ++length) text[size++] = ' ';
  }
  void put(std::uint64_t number, std::size_t width) {
    std::array<char, 24> digits{};
    std::size_t at = digits.size() - 1;
    do {
      digits[--at] = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number > 0);
    for (std::size_t i = digits.size() - 1 - at; i < width; ++i) put(" ");
    put(digits.data() + at);
  }
  void write(int descriptor) {
    while (size > 0 && text[size - 1] == ' ') --size;
    text[size++] = '\n';
    std::size_t at = 0;
    while (at < size) {
      const ssize_t wrote = ::write(descriptor, text.data() + at, size - at);
      if (wrote <= 0) break;
      at += static_cast<std::size_t>(wrote);
    }
    size = 0;
  }
};

const char* word(Fate fate) {
  switch (fate) {
    case Fate::taken:
      return "";
    case Fate::passed:
      return "passed on";
    case Fate::refused:
      return "REFUSED";
    case Fate::invalid:
      return "bad call";
    case Fate::failed:
      return "FAILED";
  }
  return "";
}

}  // namespace

const char* shape_class(std::int64_t m) noexcept {
  if (m < 0) return "";
  if (m == 0) return "M=0";
  if (m == 1) return "M=1";
  if (m <= 16) return "M 2-16";
  if (m <= 128) return "M 17-128";
  return m <= 1024 ? "M 129-1024" : "M >1024";
}

bool count(const Event& event) {
  bool made = false;
  Row* row = row_of(event, made);
  (row != nullptr ? row->calls : beyond).fetch_add(1, std::memory_order_relaxed);
  if (log_descriptor >= 0) {
    const std::string line = log_line(event);
    // One write per line, so that lines of several processes stay whole.
    if (::write(log_descriptor, line.data(), line.size()) < 0) log_descriptor = -1;
  }
  return made;
}

void write_table(int descriptor) noexcept {
  const std::size_t count = used.load(std::memory_order_acquire);
  if (count == 0) return;
  std::uint64_t sum = 0;
  std::uint64_t taken = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t calls = rows[i].calls.load(std::memory_order_relaxed);
    sum += calls;
    taken += rows[i].fate == Fate::taken ? calls : 0;
  }
  const std::uint64_t lost = beyond.load(std::memory_order_relaxed);
  Line line;
  line.put("detgemm preload: process ");
  line.put(static_cast<std::uint64_t>(getpid()), 0);
  line.put(" called for ");
  line.put(sum + lost, 0);
  line.put(" products, ");
  line.put(taken, 0);
  line.put(" of them under a contract");
  line.write(descriptor);
  line.put("     calls  ");
  line.put("function", 34);
  line.put("shape", 15);
  line.put("contract", 30);
  line.put("kernel, or why not");
  line.write(descriptor);
  for (std::size_t i = 0; i < count; ++i) {
    const Row& row = rows[i];
    line.put(row.calls.load(std::memory_order_relaxed), 10);
    line.put("  ");
    line.put(row.function, 34);
    line.put(row.direction, row.direction[0] == '\0' ? 0 : 3);
    line.put(row.shape, row.direction[0] == '\0' ? 15 : 12);
    line.put(row.fate == Fate::taken ? row.contract.data() : word(row.fate), 30);
    line.put(row.said.data());
    line.write(descriptor);
  }
  if (lost > 0) {
    line.put(lost, 10);
    line.put("  in more than 1024 rows");
    line.write(descriptor);
  }
}

bool open_log(const std::string& path) {
  log_descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  return log_descriptor >= 0;
}

void forget_counts() noexcept {
  for (Row& row : rows) row.ready.store(false, std::memory_order_relaxed);
  used.store(0, std::memory_order_release);
  beyond.store(0, std::memory_order_relaxed);
}

void lock_counts() noexcept { adding.lock(); }
void unlock_counts() noexcept { adding.unlock(); }

}  // namespace detgemm::dropin
