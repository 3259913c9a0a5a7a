// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "backends/hip/devices.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>

namespace detgemm::hip {

Status failed(std::string_view what, Error error) {
  std::string name = std::to_string(error);
  if (const auto api = runtime()) {
    (*api)->GetLastError();
    if (const char* text = (*api)->GetErrorName(error)) name = text + (" (" + name + ")");
  }
  return {Errc::internal, "hip: " + std::string(what) + " failed: " + name};
}

Status runtime_status() {
  const auto api = runtime();
  if (!api) return api.status();
  int count = 0;
  // First of all calls: without a device every other one fails for another reason.
  const Error error = (*api)->GetDeviceCount(&count);
  if (error == kSuccess && count > 0) return {};
  (*api)->GetLastError();
  if (error == kSuccess || error == kErrorNoDevice) {
    return {Errc::unavailable, "hip: this process sees no HIP device"};
  }
  return {Errc::unavailable, failed("asking for devices", error).message()};
}

namespace {

/// hipDeviceProp_t grew and moved between versions; its name comes first in all of them.
constexpr std::size_t kNameBytes = 256;
constexpr std::size_t kMemoryOffset = 256;     // totalGlobalMem until ROCm 5
constexpr std::size_t kNewMemoryOffset = 288;  // and from ROCm 6 on
using Properties = std::array<char, 16384>;

std::string text_at(const Properties& properties, std::size_t offset, std::size_t most) {
  const char* begin = properties.data() + offset;
  return {begin, std::find(begin, begin + most, '\0')};
}

/// gcnArchName lies at other places in other versions, so it is found by its look: a text that
/// starts with "gfx" and ends where the field does.
std::string architecture_in(const Properties& properties) {
  constexpr std::string_view start = "gfx";
  for (std::size_t i = kNameBytes; i + kNameBytes < properties.size(); ++i) {
    if (properties[i - 1] != '\0' || properties[i] != 'g') continue;
    const std::string text = text_at(properties, i, kNameBytes);
    if (text.rfind(start, 0) == 0) return text;
  }
  return {};
}

Result<DeviceFacts> ask(int ordinal) {
  const auto api = runtime();
  if (!api) return api.status();
  const auto properties = std::make_unique<Properties>();
  DeviceFacts facts;
  facts.ordinal = ordinal;
  Error error = (*api)->GetDeviceProperties(properties->data(), ordinal);
  if (error == kSuccess) {
    error = (*api)->DeviceGetAttribute(&facts.units, kMultiprocessorCount, ordinal);
  }
  if (error != kSuccess) return failed("asking device " + std::to_string(ordinal), error);
  facts.name = text_at(*properties, 0, kNameBytes);
  facts.architecture = architecture_in(*properties);
  std::memcpy(&facts.memory,
              properties->data() + ((*api)->new_properties ? kNewMemoryOffset : kMemoryOffset),
              sizeof(facts.memory));
  return facts;
}

}  // namespace

Result<DeviceFacts> facts_of(int ordinal) {
  static std::mutex mutex;
  static std::map<int, DeviceFacts> known;
  const std::lock_guard lock(mutex);
  if (const auto it = known.find(ordinal); it != known.end()) return it->second;
  auto facts = ask(ordinal);
  if (facts) known[ordinal] = *facts;
  return facts;
}

Result<DeviceFacts> current_device() {
  if (Status s = runtime_status(); !s) return s;
  int ordinal = 0;
  if (const Error error = (*runtime())->GetDevice(&ordinal); error != kSuccess) {
    return failed("hipGetDevice", error);
  }
  return facts_of(ordinal);
}

Result<Chip> chip_of(const DeviceFacts& device) {
  const auto chip = chip_of(std::string_view(device.architecture));
  if (chip && code_object_of(*chip) != nullptr) return *chip;
  std::string known;
  for (const CodeObject& object : code_objects()) {
    known += (known.empty() ? "" : ", ") + std::string(name(object.chip));
  }
  return unsupported("hip: device " + std::to_string(device.ordinal) + " (" + device.name +
                     ") is a " + device.processor() + ": this build has kernels for " +
                     (known.empty() ? "no chip" : known) +
                     ", and nothing else runs in their place");
}

Result<const std::vector<Function>*> kernels_of(const DeviceFacts& device) {
  static std::mutex mutex;
  static std::map<int, std::vector<Function>> loaded;
  const std::lock_guard lock(mutex);
  if (const auto it = loaded.find(device.ordinal); it != loaded.end()) return &it->second;
  const auto chip = chip_of(device);
  if (!chip) return chip.status();
  const auto api = runtime();
  if (!api) return api.status();
  Module module = nullptr;
  if (const Error error = (*api)->ModuleLoadData(&module, code_object_of(*chip)->data);
      error != kSuccess) {
    return failed("loading the kernels for " + std::string(name(*chip)) + " on device " +
                      std::to_string(device.ordinal),
                  error);
  }
  std::vector<Function> functions;
  for (const std::string& kernel : kernel_names(*chip)) {
    Function function = nullptr;
    if (const Error error = (*api)->ModuleGetFunction(&function, module, kernel.c_str());
        error != kSuccess) {
      return failed("finding kernel " + kernel, error);
    }
    functions.push_back(function);
  }
  return &(loaded[device.ordinal] = std::move(functions));
}

}  // namespace detgemm::hip
