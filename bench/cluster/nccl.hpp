// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>

#include "detgemm/status.hpp"
#include "detgemm/types.hpp"

namespace detgemm::bench {

// Numbers of NCCL's enumerations: ncclDataType_t, ncclRedOp_t.
inline constexpr int kNcclFloat32 = 7;
inline constexpr int kNcclBfloat16 = 9;
inline constexpr int kNcclSum = 0;

struct NcclId {
  std::array<std::byte, 128> bytes{};
};

/// What the benchmark calls of NCCL beside what detgemm's own transport does; see NcclFunctions.
struct NcclCollectives {
  int (*GetVersion)(int*);
  int (*GetUniqueId)(NcclId*);
  int (*CommInitRank)(void** comm, int size, NcclId id, int rank);
  int (*CommDestroy)(void* comm);
  int (*AllReduce)(const void* from, void* to, std::size_t count, int type, int op, void* comm,
                   void* stream);
  int (*ReduceScatter)(const void* from, void* to, std::size_t count_of_each, int type, int op,
                       void* comm, void* stream);
};

/// NVIDIA's collective library, found at run time: nothing of detgemm links to it.
class Nccl {
 public:
  /// Null where there is none; `why` then says so. An empty path: libnccl.so.2.
  static std::unique_ptr<Nccl> open(const std::string& path, std::string& why);

  std::string version() const;
  NcclId new_id() const;
  /// Collective; throws. The current device is the rank's own.
  void* communicator(const NcclId& id, int size, int rank) const;
  void destroy(void* comm) const { call_.CommDestroy(comm); }
  /// In place, over all elements.
  Status all_reduce(void* data, std::size_t count, int type, void* comm, Stream stream) const;
  /// In place: rank r has the sum of its part, part r of `size` equal ones.
  Status reduce_scatter(void* data, std::size_t count, int type, void* comm, int rank, int size,
                        Stream stream) const;

 private:
  NcclCollectives call_{};
};

}  // namespace detgemm::bench
