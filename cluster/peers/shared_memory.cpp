// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cluster/peers/shared_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <limits>
#include <map>
#include <mutex>
#include <random>
#include <system_error>

#include "detgemm/contract.hpp"

namespace detgemm::cluster {
namespace {

std::string name_of(const SharedMemory::Id& id) { return "/detgemm-" + hex(id[0]) + hex(id[1]); }

Status failed(const std::string& what, int error) {
  return {Errc::unavailable, what + ": " + std::generic_category().message(error)};
}

/// What this process has made, so that its threads share addresses and none of them ends the
/// memory of another.
struct Registry {
  std::mutex mutex;
  std::map<SharedMemory::Id, std::weak_ptr<SharedMemory>> made;
};
Registry& registry() {
  static Registry one;
  return one;
}

Result<std::byte*> map(int file, std::size_t bytes) {
  void* const data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  const int error = errno;
  close(file);
  if (data == MAP_FAILED) return failed("mapping shared memory", error);
  return static_cast<std::byte*>(data);
}

}  // namespace

Result<std::shared_ptr<SharedMemory>> SharedMemory::create(std::size_t bytes) {
  if (bytes > static_cast<std::size_t>(std::numeric_limits<off_t>::max())) {
    return failed("making shared memory of " + std::to_string(bytes) + " bytes", EFBIG);
  }
  std::random_device random;
  Id id{};
  for (std::uint64_t& word : id) word = (std::uint64_t{random()} << 32) | random();
  const int file = shm_open(name_of(id).c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
  if (file < 0) return failed("making shared memory", errno);
  // Space that is only promised would end in a signal when it is touched.
  if (const int error = posix_fallocate(file, 0, static_cast<off_t>(bytes)); error != 0) {
    close(file);
    shm_unlink(name_of(id).c_str());
    return failed("making shared memory of " + std::to_string(bytes) + " bytes", error);
  }
  const auto data = map(file, bytes);
  if (!data) {
    shm_unlink(name_of(id).c_str());
    return data.status();
  }
  std::shared_ptr<SharedMemory> made(new SharedMemory(id, *data, bytes));
  const std::scoped_lock lock(registry().mutex);
  registry().made[id] = made;
  return made;
}

Result<std::shared_ptr<SharedMemory>> SharedMemory::open(const Id& id, std::size_t bytes) {
  {
    const std::scoped_lock lock(registry().mutex);
    const auto found = registry().made.find(id);
    if (found != registry().made.end()) {
      if (auto mine = found->second.lock()) return mine;
    }
  }
  const int file = shm_open(name_of(id).c_str(), O_RDWR | O_CLOEXEC, 0);
  if (file < 0) return failed("opening shared memory", errno);
  const auto data = map(file, bytes);
  if (!data) return data.status();
  return std::shared_ptr<SharedMemory>(new SharedMemory(id, *data, bytes));
}

SharedMemory::~SharedMemory() {
  munmap(data_, bytes_);
  const std::scoped_lock lock(registry().mutex);
  const auto found = registry().made.find(id_);
  if (found != registry().made.end() && found->second.expired()) registry().made.erase(found);
}

void SharedMemory::hide() const { shm_unlink(name_of(id_).c_str()); }

}  // namespace detgemm::cluster
