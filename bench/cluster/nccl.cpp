// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/cluster/nccl.hpp"

#include <stdexcept>

#include "bench/common/arm.hpp"
#include "bench/common/symbols.hpp"

namespace detgemm::bench {
namespace {

Status status_of(const char* what, int error) {
  if (error == 0) return {};
  return {Errc::internal, std::string("NCCL: ") + what + ": result " + std::to_string(error)};
}

}  // namespace

std::unique_ptr<Nccl> Nccl::open(const std::string& path, std::string& why) {
  void* const object = dlopen(path.empty() ? "libnccl.so.2" : path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (object == nullptr) {
    const char* error = dlerror();
    why = error != nullptr ? error : "libnccl.so.2 was not found";
    return nullptr;
  }
  auto made = std::make_unique<Nccl>();
  Symbols symbols(object, "nccl");
  symbols.find(made->call_.GetVersion, "GetVersion");
  symbols.find(made->call_.GetUniqueId, "GetUniqueId");
  symbols.find(made->call_.CommInitRank, "CommInitRank");
  symbols.find(made->call_.CommDestroy, "CommDestroy");
  symbols.find(made->call_.AllReduce, "AllReduce");
  symbols.find(made->call_.ReduceScatter, "ReduceScatter");
  if (symbols.missing().empty()) return made;
  why = "the library lacks " + symbols.missing();
  return nullptr;
}

std::string Nccl::version() const {
  int number = 0;
  call_.GetVersion(&number);
  return std::to_string(number / 10000) + "." + std::to_string(number / 100 % 100) + "." +
         std::to_string(number % 100);
}

NcclId Nccl::new_id() const {
  NcclId id;
  check(status_of("an id", call_.GetUniqueId(&id)), "NCCL");
  return id;
}

void* Nccl::communicator(const NcclId& id, int size, int rank) const {
  void* comm = nullptr;
  check(status_of("a communicator", call_.CommInitRank(&comm, size, id, rank)), "NCCL");
  return comm;
}

Status Nccl::all_reduce(void* data, std::size_t count, int type, void* comm, Stream stream) const {
  return status_of("all-reduce",
                   call_.AllReduce(data, data, count, type, kNcclSum, comm, stream.handle));
}

Status Nccl::reduce_scatter(void* data, std::size_t count, int type, void* comm, int rank, int size,
                            Stream stream) const {
  const std::size_t each = count / static_cast<std::size_t>(size);
  const std::size_t element = type == kNcclFloat32 ? 4 : 2;
  auto* const own = static_cast<std::byte*>(data) + static_cast<std::size_t>(rank) * each * element;
  return status_of("reduce-scatter",
                   call_.ReduceScatter(data, own, each, type, kNcclSum, comm, stream.handle));
}

}  // namespace detgemm::bench
