// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// A main for fuzz targets where libFuzzer is not: replays the files and folders named, then runs
// inputs derived from them by a generator with a fixed seed, so that every run is the same run.
//
//   driver RUNS SEED PATH...

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Input = std::vector<std::uint8_t>;

void read_into(std::vector<Input>& corpus, const std::filesystem::path& path) {
  if (std::filesystem::is_directory(path)) {
    std::vector<std::filesystem::path> entries(std::filesystem::directory_iterator(path), {});
    std::sort(entries.begin(), entries.end());
    for (const auto& entry : entries) read_into(corpus, entry);
    return;
  }
  std::ifstream file(path, std::ios::binary);
  corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

/// One to eight edits of a corpus entry, or bytes from nowhere.
Input derive(const std::vector<Input>& corpus, std::mt19937& random) {
  Input input;
  if (!corpus.empty() && random() % 4 != 0) {
    input = corpus[random() % corpus.size()];
  } else {
    input.resize(random() % 160);
    for (std::uint8_t& b : input) b = static_cast<std::uint8_t>(random());
  }
  for (auto edits = random() % 8 + 1; edits > 0; --edits) {
    const std::size_t at = input.empty() ? 0 : random() % input.size();
    const auto place = input.begin() + static_cast<std::ptrdiff_t>(at);
    const auto byte = static_cast<std::uint8_t>(random());
    switch (random() % 4) {
      case 0:
        input.insert(place, byte);
        break;
      case 1:
        if (!input.empty()) input.erase(place);
        break;
      case 2:
        if (!input.empty()) *place = byte;
        break;
      default:
        if (!input.empty()) *place = static_cast<std::uint8_t>(*place ^ (1U << random() % 8));
        break;
    }
  }
  return input;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s RUNS SEED [PATH...]\n", argv[0]);
    return 2;
  }
  const long runs = std::strtol(argv[1], nullptr, 10);
  std::mt19937 random(static_cast<std::uint32_t>(std::strtoul(argv[2], nullptr, 10)));
  std::vector<Input> corpus;
  for (int i = 3; i < argc; ++i) read_into(corpus, argv[i]);
  for (const Input& input : corpus) LLVMFuzzerTestOneInput(input.data(), input.size());
  for (long i = 0; i < runs; ++i) {
    const Input input = derive(corpus, random);
    LLVMFuzzerTestOneInput(input.data(), input.size());
  }
  std::printf("%zu seeds and %ld derived inputs\n", corpus.size(), runs);
  return runs > 0 && !corpus.empty() ? 0 : 3;
}
