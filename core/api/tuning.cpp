// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "detgemm/tuning.hpp"

#include <algorithm>
#include <atomic>
#include <fstream>
#include <mutex>
#include <new>
#include <sstream>

#include "core/contract/wording.hpp"
#include "detgemm/digest.hpp"

namespace detgemm {

TuningEngine::~TuningEngine() = default;
const TuningEngine* Backend::tuning() const noexcept { return nullptr; }

const TunedRange* TunedProduct::find(std::int64_t m) const {
  const auto at =
      std::lower_bound(ranges.begin(), ranges.end(), m,
                       [](const TunedRange& r, std::int64_t x) { return r.last_m < x; });
  return at == ranges.end() || m < at->first_m ? nullptr : &*at;
}

bool TunedProduct::is_of(const GemmSpec& spec) const {
  return n == spec.n && k == spec.k && op_a == spec.op_a && op_b == spec.op_b &&
         contract == spec.contract;
}

const TunedProduct* Tuning::find(const GemmSpec& spec) const {
  const auto at = std::find_if(products_.begin(), products_.end(),
                               [&](const TunedProduct& p) { return p.is_of(spec); });
  return at == products_.end() ? nullptr : &*at;
}

namespace {

GemmSpec spec_of(const TunedProduct& p) {
  GemmSpec spec;
  spec.contract = p.contract;
  spec.n = p.n;
  spec.k = p.k;
  spec.op_a = p.op_a;
  spec.op_b = p.op_b;
  return spec;
}

/// The engine, or why there is none.
Result<const TuningEngine*> engine_of(const Backend& backend) {
  if (Status s = backend.available(); !s) return s;
  if (const TuningEngine* engine = backend.tuning(); engine != nullptr) return engine;
  return unsupported("backend is " + std::string(backend.name()) +
                     ": it has no kernels that are chosen by time, so it takes no tuning");
}

Status other(const std::string& what, const std::string& value, const std::string& here) {
  return {Errc::unavailable, "tuning." + what + " is " + quoted(value) + ": here it is " +
                                 quoted(here) + "; tune again"};
}

/// ok, or what a file is for and this is not.
Status check_target(const TuningTarget& file, const TuningTarget& here) {
  if (file.backend != here.backend) return other("backend", file.backend, here.backend);
  if (file.version != here.version) return other("version", file.version, here.version);
  if (file.kernels != here.kernels) return other("kernels", hex(file.kernels), hex(here.kernels));
  if (file.device != here.device) return other("device", file.device, here.device);
  if (file.processors == here.processors) return {};
  return other("processors", std::to_string(file.processors), std::to_string(here.processors));
}

std::string one_line(std::string text) {
  for (char& c : text) {
    if (c < 0x20 || c > 0x7e) c = '?';
  }
  return text;
}

/// Reads words of one line of the text.
class Line {
 public:
  Line(std::string text, int number) : words_(text), text_(std::move(text)), number_(number) {}

  Status wrong(const std::string& rule) const {
    return invalid("tuning: line " + std::to_string(number_) + " is " + quoted(text_) +
                   ": it must be " + rule);
  }
  /// Whether the next word is this one.
  bool word(std::string_view expected) {
    std::string word;
    return words_ >> word && word == expected;
  }
  bool read(std::string& value) { return static_cast<bool>(words_ >> value); }
  bool read(std::int64_t& value) {
    std::string word;
    if (!(words_ >> word) || word.empty() || word.size() > 18) return false;
    if (word.find_first_not_of("0123456789") != std::string::npos) return false;
    value = std::stoll(word);
    return true;
  }
  bool read(double& value) { return static_cast<bool>(words_ >> value) && value >= 0; }
  bool read(Op& op) {
    std::string word;
    if (!(words_ >> word) || (word != "none" && word != "transpose")) return false;
    op = word == "none" ? Op::none : Op::transpose;
    return true;
  }
  bool ended() {
    std::string rest;
    return !(words_ >> rest);
  }

 private:
  std::istringstream words_;
  std::string text_;
  int number_;
};

constexpr const char* kProductRule =
    "\"product CONTRACT n N k K a OP b OP\", with sizes from 1 and none or transpose for OP";
constexpr const char* kRangeRule =
    "\"m FIRST LAST KERNEL us T chosen T\", with 1 <= FIRST <= LAST, after a product and after the "
    "rows of smaller M";

Result<TunedProduct> product_of(Line& line) {
  TunedProduct p;
  std::string contract;
  const bool read = line.word("product") && line.read(contract) && line.word("n") &&
                    line.read(p.n) && line.word("k") && line.read(p.k) && line.word("a") &&
                    line.read(p.op_a) && line.word("b") && line.read(p.op_b) && line.ended();
  if (!read || p.n < 1 || p.k < 1) return line.wrong(kProductRule);
  auto parsed = Contract::parse(contract);
  if (!parsed) return line.wrong("a product of a contract; " + parsed.status().message());
  p.contract = *parsed;
  return p;
}

Status add_range(Line& line, TunedProduct& to) {
  TunedRange r;
  const bool read = line.word("m") && line.read(r.first_m) && line.read(r.last_m) &&
                    line.read(r.kernel) && line.word("us") && line.read(r.us) &&
                    line.word("chosen") && line.read(r.chosen_us) && line.ended();
  const std::int64_t before = to.ranges.empty() ? 0 : to.ranges.back().last_m;
  if (!read || r.first_m <= before || r.last_m < r.first_m) return line.wrong(kRangeRule);
  to.ranges.push_back(std::move(r));
  return {};
}

/// The text without its last line, the digest, which must be right.
Result<std::string> checked(std::string_view text) {
  const auto at = text.rfind("digest ");
  const bool whole = at != std::string_view::npos && (at == 0 || text[at - 1] == '\n') &&
                     text.size() == at + 7 + 16 + 1 && text.back() == '\n';
  if (!whole) {
    return invalid("tuning: the last line is not \"digest\" and 16 digits: the text must be whole");
  }
  const std::string stated(text.substr(at + 7, 16));
  const std::string found = hex(digest_bytes(text.data(), at));
  if (stated == found) return std::string(text.substr(0, at));
  return invalid("tuning: digest is " + quoted(stated) + ": that of the text is " + found +
                 ", so it was changed or damaged; write it by Tuning::text");
}

std::mutex in_use_mutex;
std::shared_ptr<const Tuning>& in_use() {
  static std::shared_ptr<const Tuning> tuning;
  return tuning;
}
std::atomic<bool> any_in_use{false};  // so that plans take no lock where there is none

}  // namespace

void use_tuning(std::shared_ptr<const Tuning> tuning) {
  const std::lock_guard lock(in_use_mutex);
  any_in_use = tuning != nullptr;
  in_use() = std::move(tuning);
}

std::shared_ptr<const Tuning> tuning_in_use() {
  if (!any_in_use) return nullptr;
  const std::lock_guard lock(in_use_mutex);
  return in_use();
}

Status Tuning::add(TunedProduct product) {
  const GemmSpec spec = spec_of(product);
  if (Status s = validate(spec); !s) return s;
  if (Status s = backend_->supports(spec); !s) return s;
  if (find(spec) != nullptr) {
    return invalid("tuning: " + product.contract.text() + " of n = " + std::to_string(spec.n) +
                   " and k = " + std::to_string(spec.k) +
                   " is there twice: all rows of a product "
                   "must follow it");
  }
  for (TunedRange& range : product.ranges) {
    range.number = backend_->tuning()->number(spec, range.kernel);
    if (range.number >= 0) continue;
    return {Errc::not_found, "tuning: kernel is " + quoted(range.kernel) + ": " +
                                 std::string(backend_->name()) + " has no such kernel for " +
                                 product.contract.text() + " with n = " + std::to_string(spec.n) +
                                 " and k = " + std::to_string(spec.k)};
  }
  products_.push_back(std::move(product));
  return {};
}

Result<std::shared_ptr<const Tuning>> Tuning::make(const Backend& backend,
                                                   std::vector<TunedProduct> products) {
  const auto engine = engine_of(backend);
  if (!engine) return engine.status();
  auto here = (*engine)->target();
  if (!here) return here.status();
  here->device = one_line(here->device);
  const std::shared_ptr<Tuning> made(new Tuning(backend, *here));
  for (TunedProduct& product : products) {
    if (Status s = made->add(std::move(product)); !s) return s;
  }
  return std::shared_ptr<const Tuning>(made);
}

Result<std::shared_ptr<const Tuning>> Tuning::parse(const Backend& backend, std::string_view text) {
  const auto body = checked(text);
  if (!body) return body.status();
  std::istringstream lines(*body);
  std::string content;
  int number = 0;
  const auto next = [&] { return ++number, static_cast<bool>(std::getline(lines, content)); };
  // What follows a key of the head, up to the end of its line.
  std::string head[5];
  if (!next() || content != "detgemm-tuning 1") {
    return Line(content, number)
        .wrong("\"detgemm-tuning 1\", the version of the format that is read");
  }
  int index = 0;
  for (const char* key : {"backend", "version", "kernels", "device", "processors"}) {
    const std::string start = std::string(key) + " ";
    if (!next() || !content.starts_with(start)) {
      return Line(content, number).wrong("\"" + start + "\" and its value");
    }
    head[index++] = content.substr(start.size());
  }
  TuningTarget file{head[0], head[1], 0, head[3], 0};
  std::istringstream(head[2]) >> std::hex >> file.kernels;
  std::istringstream(head[4]) >> file.processors;
  if (file.backend != backend.name()) {
    return other("backend", file.backend, std::string(backend.name()));
  }
  auto made = make(backend, {});
  if (!made) return made.status();
  if (Status s = check_target(file, (*made)->target()); !s) return s;
  std::vector<TunedProduct> products;
  while (next()) {
    Line line(content, number);
    if (content.starts_with("product ")) {
      auto product = product_of(line);
      if (!product) return product.status();
      products.push_back(std::move(*product));
    } else {
      if (products.empty()) return line.wrong(kProductRule);
      if (Status s = add_range(line, products.back()); !s) return s;
    }
  }
  return make(backend, std::move(products));
}

Result<std::shared_ptr<const Tuning>> Tuning::load(const Backend& backend,
                                                   const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  if (file) text << file.rdbuf();
  if (!file) {
    return Status{Errc::io, "path is " + quoted(path) + ": it must be a file that can be read"};
  }
  return parse(backend, text.str());
}

std::string Tuning::text() const {
  std::ostringstream out;
  out << "detgemm-tuning 1\nbackend " << target_.backend << "\nversion " << target_.version
      << "\nkernels " << hex(target_.kernels) << "\ndevice " << target_.device << "\nprocessors "
      << target_.processors << "\n";
  for (const TunedProduct& p : products_) {
    out << "product " << p.contract.text() << " n " << p.n << " k " << p.k << " a " << name(p.op_a)
        << " b " << name(p.op_b) << "\n";
    for (const TunedRange& r : p.ranges) {
      out << "m " << r.first_m << " " << r.last_m << " " << r.kernel << " us " << r.us << " chosen "
          << r.chosen_us << "\n";
    }
  }
  const std::string body = out.str();
  return body + "digest " + hex(digest_bytes(body.data(), body.size())) + "\n";
}

}  // namespace detgemm
