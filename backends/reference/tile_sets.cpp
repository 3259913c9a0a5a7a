// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <array>

#include "backends/reference/tile.hpp"

namespace detgemm::reference {

namespace lanes4 {
extern const TileSet set;
}
#if defined(DETGEMM_TILES_AVX2)
namespace lanes8 {
extern const TileSet set;
}
#endif
#if defined(DETGEMM_TILES_AVX512)
namespace lanes16 {
extern const TileSet set;
}
#endif

std::size_t tile_sets(const TileSet* const** sets) noexcept {
  struct List {
    std::array<const TileSet*, 3> entries{};
    std::size_t count = 0;
  };
  static const List list = [] {
    List l;
#if defined(DETGEMM_TILES_AVX2) || defined(DETGEMM_TILES_AVX512)
    __builtin_cpu_init();
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#if defined(DETGEMM_TILES_AVX512)
    const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                        __builtin_cpu_supports("avx512vl");
    if (avx512) l.entries[l.count++] = &lanes16::set;
#endif
#if defined(DETGEMM_TILES_AVX2)
    if (avx2) l.entries[l.count++] = &lanes8::set;
#endif
#endif
    l.entries[l.count++] = &lanes4::set;
    return l;
  }();
  *sets = list.entries.data();
  return list.count;
}

}  // namespace detgemm::reference
