// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/gcn/runtime/device.hpp"

#include <elf.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/hip/step_models.hpp"

namespace detgemm::gcn {

namespace {

std::string environment(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : otherwise;
}

MatrixStep step_of(const test::StepModel& model) {
  return [model](const std::uint16_t* a, const std::uint16_t* b, int count, float acc) {
    return model.compute(a, b, count, acc);
  };
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The size in bytes of an ELF image, whose section headers come last; 0 if it is not one.
std::size_t image_size(const void* image) {
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return 0;
  return header.e_shoff + std::size_t{header.e_shnum} * header.e_shentsize;
}

}  // namespace

Device& Device::get() {
  static Device device;
  return device;
}

Device::Device()
    : architecture(environment("GCN_ARCH", "gfx942")),
      units(std::atoi(environment("GCN_UNITS", architecture == "gfx942"   ? "304"
                                               : architecture == "gfx950" ? "256"
                                                                          : "104")
                          .c_str())),
      report_(environment("GCN_REPORT", "")),
      threads_(std::max(1, std::atoi(environment("GCN_THREADS", "1").c_str()))) {
  const std::string strict = environment("GCN_STRICT", "");
  const auto has = [&](const char* word) { return strict.find(word) != std::string::npos; };
  faults_on_dead_streams = has("streams");
  loads_in_capture = !has("loads");
  knows_pointers = !has("pointers");
  streams_elsewhere = has("elsewhere");
  const std::string matrix = environment("GCN_MFMA", "model");
  adverse = matrix == "adverse";
  if (!adverse && matrix != "model") {
    const auto model = test::find_model(matrix);
    if (!model) {
      std::fprintf(stderr,
                   "gcn: GCN_MFMA is \"%s\": it must be model, adverse or the name of a model of "
                   "tests/hip/step_models.cpp\n",
                   matrix.c_str());
      std::exit(2);
    }
    step = step_of(*model);
    fp8_step = step;
  } else if (architecture == "gfx942") {
    fp8_step = step_of(*test::find_model("cdna3-fp8"));
  }
  std::string folders = environment("GCN_CODE", "");
  for (std::size_t begin = 0; begin < folders.size();) {
    const std::size_t end = std::min(folders.find(':', begin), folders.size());
    folders_.push_back(folders.substr(begin, end - begin));
    begin = end + 1;
  }
  // The null stream and the two that have fixed numbers: legacy and per thread.
  for (std::uintptr_t i = 0; i < 3; ++i)
    streams[reinterpret_cast<void*>(i)] = std::make_unique<Stream>();
}

Device::~Device() {
  char line[300];
  std::snprintf(
      line, sizeof line,
      "gcn emulated %s: %llu launches, %llu workgroups, %llu wave-instructions (%llu mfma), "
      "%.2f s, %.2f million a second\n",
      architecture.c_str(), static_cast<unsigned long long>(launches_),
      static_cast<unsigned long long>(totals_.workgroups),
      static_cast<unsigned long long>(totals_.instructions),
      static_cast<unsigned long long>(totals_.mfmas), seconds_,
      seconds_ > 0 ? 1e-6 * static_cast<double>(totals_.instructions) / seconds_ : 0.0);
  if (report_.empty()) {
    if (launches_ != 0) std::fputs(line, stderr);
  } else if (std::FILE* file = std::fopen(report_.c_str(), "a")) {
    std::fputs(line, file);
    std::fclose(file);
  }
}

Error Device::allocate(void** out, std::size_t bytes, bool host) {
  if (out == nullptr) return kInvalidValue;
  *out = nullptr;
  if (bytes == 0) return kSuccess;
  *out = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  if (*out == nullptr) return kOutOfMemory;
  std::memset(*out, 0xff, bytes);  // whoever reads what nobody wrote reads NaNs
  (host ? host_memory_ : device_memory_).add(*out, bytes);
  return kSuccess;
}

Error Device::release(void* memory) {
  if (memory == nullptr) return kSuccess;
  if (!device_memory_.remove(memory) && !host_memory_.remove(memory)) return kInvalidValue;
  std::free(memory);
  return kSuccess;
}

int Device::kind_of(const void* address) const {
  const auto at = reinterpret_cast<std::uint64_t>(address);
  return device_memory_.holds(at, 1) ? 2 : host_memory_.holds(at, 1) ? 1 : 0;
}

Error Device::parse(const std::filesystem::path& code_object, Module& out) const {
  // The text lies next to it: X.s, or every .s in folder X.
  std::vector<std::filesystem::path> texts;
  std::filesystem::path path = code_object;
  std::error_code ignored;
  if (std::filesystem::exists(path.replace_extension(".s"))) texts.push_back(path);
  for (const auto& part : std::filesystem::directory_iterator(path.replace_extension(), ignored)) {
    if (part.path().extension() == ".s") texts.push_back(part.path());
  }
  for (const auto& text : texts) {
    out.files.push_back(std::make_unique<const std::string>(read_file(text)));
    for (KernelText& kernel : list_kernels(*out.files.back())) {
      if (kernel.architecture != architecture) return kNoBinaryForGpu;
      const std::string name = kernel.name;
      out.functions[name].text = std::move(kernel);
    }
  }
  return out.functions.empty() ? kFileNotFound : kSuccess;
}

Error Device::load(const void* image, Module*& out) {
  const std::size_t size = image_size(image);
  if (size == 0) return kInvalidImage;
  for (const std::string& folder : folders_) {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
      if (entry.path().extension() != ".hsaco" || entry.file_size() < size) continue;
      if (std::memcmp(read_file(entry.path()).data(), image, size) != 0) continue;
      const auto [found, fresh] = modules_.try_emplace(entry.path().string());
      out = &found->second;
      const Error error = fresh ? parse(entry.path(), *out) : kSuccess;
      if (error != kSuccess) modules_.erase(found);
      return error;
    }
  }
  std::fputs("gcn: no .hsaco in GCN_CODE has the bytes of the image to load\n", stderr);
  return kFileNotFound;
}

Error Device::launch(const Kernel& kernel, const Launch& launch) {
  if (sticky != kSuccess) return sticky;
  MemoryMap memory = device_memory_;
  const auto begin = std::chrono::steady_clock::now();
  try {
    totals_.add(run(kernel, launch, memory, threads_));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    sticky = kLaunchFailure;
  }
  ++launches_;
  seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return sticky;
}

void Device::check_alive(void* handle) {
  if (!faults_on_dead_streams || stream(handle) != nullptr) return;
  std::fputs("gcn: a stream that was destroyed reached a function that does not check it\n",
             stderr);
  std::abort();
}

Stream* Device::stream(void* handle) {
  const auto found = streams.find(handle);
  return found == streams.end() ? nullptr : found->second.get();
}

Error Device::enqueue(void* handle, Work work) {
  if (sticky != kSuccess) return sticky;
  Stream* s = stream(handle);
  if (s == nullptr) return kInvalidHandle;
  if (!s->recording) return work();
  if (s->invalidated) return kCaptureInvalidated;
  s->recording->nodes.push_back(std::move(work));
  return kSuccess;
}

Error Device::refuse_in_capture(Stream* waited) {
  if (sticky != kSuccess) return sticky;
  for (auto& [handle, s] : streams) {
    const bool concerned =
        s->mode == 0 || (s->mode == 1 && s->thread == std::this_thread::get_id());
    if (!s->recording || (s.get() != waited && !concerned)) continue;
    s->invalidated = true;
    return kCaptureUnsupported;
  }
  return kSuccess;
}

}  // namespace detgemm::gcn
