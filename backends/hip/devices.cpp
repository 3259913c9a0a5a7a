// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "backends/hip/devices.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "backends/hip/find_runtime.hpp"

namespace detgemm::hip {

static_assert(gpu::Runtime<Hip>, "Hip has every function that backends/gpu calls");

namespace {

/// hipDeviceProp_t grew and moved between versions; its name comes first in all of them.
constexpr std::size_t kNameBytes = 256;
constexpr std::size_t kMemoryOffset = 256;     // totalGlobalMem until ROCm 5
constexpr std::size_t kNewMemoryOffset = 288;  // and from ROCm 6 on
using Properties = std::array<char, 16384>;

std::string text_at(const Properties& properties, std::size_t offset, std::size_t max_bytes) {
  const char* begin = properties.data() + offset;
  return {begin, std::find(begin, begin + max_bytes, '\0')};
}

/// gcnArchName lies at different places in different versions, so it is found by what it looks
/// like: a text that starts with "gfx" right after the end of another field.
std::string architecture_in(const Properties& properties) {
  constexpr std::string_view start = "gfx";
  for (std::size_t i = kNameBytes; i + kNameBytes < properties.size(); ++i) {
    if (properties[i - 1] != '\0' || properties[i] != 'g') continue;
    const std::string text = text_at(properties, i, kNameBytes);
    if (text.rfind(start, 0) == 0) return text;
  }
  return {};
}

/// A fact that older runtimes do not know is none; the error of asking is forgotten.
bool has(int attribute, int ordinal) {
  int value = 0;
  if (Hip::api().DeviceGetAttribute(&value, attribute, ordinal) == kSuccess) return value == 1;
  Hip::forget_error();
  return false;
}

}  // namespace

Status Hip::available() {
  if (Status s = loaded(); !s) return s;
  if (Status s = check_one_runtime(); !s) return s;
  int count = 0;
  // This is the first call of all: without a device every other one fails for another reason.
  const Error error = device_count(&count);
  if (error == kSuccess && count > 0) return {};
  forget_error();
  if (error == kSuccess || error == kErrorNoDevice) {
    return {Errc::unavailable, "hip: no HIP device is visible to this process"};
  }
  return {Errc::unavailable, gpu::failed<Hip>("querying the number of devices", error).message()};
}

Result<DeviceFacts> Hip::ask(int ordinal) {
  const auto properties = std::make_unique<Properties>();
  DeviceFacts facts;
  facts.ordinal = ordinal;
  Error error = api().GetDeviceProperties(properties->data(), ordinal);
  if (error == kSuccess) {
    error = api().DeviceGetAttribute(&facts.units, kMultiprocessorCount, ordinal);
  }
  if (error != kSuccess) {
    return gpu::failed<Hip>("querying device " + std::to_string(ordinal), error);
  }
  // An older runtime does not know this number, and may leave an answer that is none.
  if (api().DeviceGetAttribute(&facts.xcds, kNumberOfXccs, ordinal) != kSuccess || facts.xcds < 1 ||
      facts.units % facts.xcds != 0) {
    forget_error();
    facts.xcds = 0;
  }
  facts.name = text_at(*properties, 0, kNameBytes);
  facts.architecture = architecture_in(*properties);
  std::memcpy(&facts.memory,
              properties->data() + (api().new_properties ? kNewMemoryOffset : kMemoryOffset),
              sizeof(facts.memory));
  facts.shares_host_memory =
      has(kPageableAccess, ordinal) && (has(kIntegrated, ordinal) || has(kHostPageTables, ordinal));
  return facts;
}

std::string Hip::text(const DeviceFacts& device) {
  return device.name + ", " + device.processor() + ", HIP " + api().version_text();
}

DeviceInfo Hip::info(const DeviceFacts& device) {
  return {device.name,   device.processor(),   device.units,
          device.memory, api().version_text(), api().library};
}

Result<Chip> chip_of(const DeviceFacts& device) {
  const auto chip = chip_of(std::string_view(device.architecture));
  if (chip && code_object_of(*chip) != nullptr) return *chip;
  std::string why = "this build has kernels for ";
  std::string known;
  for (const CodeObject& object : code_objects()) {
    known += (known.empty() ? "" : ", ") + std::string(name(object.chip));
  }
  why += (known.empty() ? "no chip" : known) + ", and there is no fallback";
  if (chip) {
    why += "; those for " + std::string(name(*chip)) +
           " were left out, because the build had no compiler for it";
  } else if (device.processor() == "gfx908") {
    why +=
        "; gfx908 (MI100) is left out because its matrix cores compute other steps than those of "
        "gfx90a, which no contract describes";
  }
  return unsupported("hip: device " + std::to_string(device.ordinal) + " (" + device.name +
                     ") is a " + device.processor() + ": " + why);
}

namespace {

Result<Functions> load(int ordinal, Chip chip) {
  const Runtime& api = Hip::api();
  Module module = nullptr;
  if (const Error error = api.ModuleLoadData(&module, code_object_of(chip)->data);
      error != kSuccess) {
    const bool capture = error == kErrorCaptureUnsupported || error == kErrorCaptureInvalidated;
    return gpu::failed<Hip>(
        "loading the kernels for " + std::string(name(chip)) + " on device " +
            std::to_string(ordinal) +
            (capture ? " (once for a device, by its first call: make one before a "
                       "capture)"
                     : ""),
        error);
  }
  Functions functions;
  for (const std::string& kernel : kernel_names(chip)) {
    Function function = nullptr;
    if (const Error error = api.ModuleGetFunction(&function, module, kernel.c_str());
        error != kSuccess) {
      return gpu::failed<Hip>("finding kernel " + kernel, error);
    }
    functions.push_back(function);
  }
  return functions;
}

/// The key is the device's ordinal, for want of a context's number; `launch` forgets dead entries.
gpu::ContextTable<Functions>& loaded_kernels() {
  static gpu::ContextTable<Functions> table;
  return table;
}

bool says_that_handles_are_dead(Error error) {
  return error == kErrorInvalidHandle || error == kErrorContextIsDestroyed ||
         error == kErrorInvalidContext;
}

Error try_launch(Function function, const Launch& what, StreamHandle stream) {
  // The runtime copies the arguments before it returns.
  void* arguments[] = {const_cast<std::byte*>(what.arguments)};
  return Hip::api().ModuleLaunchKernel(function, what.blocks, 1, 1, what.threads, 1, 1, 0, stream,
                                       arguments, nullptr);
}

}  // namespace

Result<std::shared_ptr<const Functions>> kernels_of(int ordinal, Chip chip) {
  return loaded_kernels().get(static_cast<std::uint64_t>(ordinal),
                              [&] { return load(ordinal, chip); });
}

Status launch(int ordinal, Chip chip, const Launch& what, StreamHandle stream) {
  const auto index = static_cast<std::size_t>(what.kernel);
  const auto launching = [&] { return "launching " + kernel_names(chip)[index]; };
  auto kernels = kernels_of(ordinal, chip);
  if (!kernels) return kernels.status();
  Error error = try_launch((**kernels)[index], what, stream);
  if (error == kSuccess) return {};
  bool capturing = false;
  if (!says_that_handles_are_dead(error) || Hip::is_capturing(stream, &capturing) != kSuccess ||
      capturing) {
    return gpu::failed<Hip>(launching(), error);
  }
  Hip::forget_error();
  loaded_kernels().forget(static_cast<std::uint64_t>(ordinal), *kernels);
  kernels = kernels_of(ordinal, chip);
  if (!kernels) return kernels.status();
  error = try_launch((**kernels)[index], what, stream);
  return gpu::check<Hip>(launching(), error);
}

}  // namespace detgemm::hip
