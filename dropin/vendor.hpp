// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

namespace detgemm::dropin {

/// The vendor's two libraries.
enum class Library : int { blas = 0, blas_lt = 1 };

/// How a vendor's libraries are called: the start of their file names, and whole names to try.
struct LibraryNames {
  const char* prefix;    ///< for example "libcublas.so"
  const char* tries[4];  ///< for example "libcublas.so.13"; the rest null
};
/// By Library; defined by each stand-in.
extern const LibraryNames kLibraries[2];

/// The vendor's own function of that name: what comes after this library in the order of symbols,
/// else the one of a library that the process has loaded, else of one that can be loaded. Null
/// where there is none, which is said once on stderr.
void* vendor_symbol(Library library, const char* name) noexcept;

/// Around a fork: no other thread is looking for a function. The child renews the lock in place of
/// unlocking it.
void lock_vendor() noexcept;
void unlock_vendor() noexcept;
void renew_vendor() noexcept;

/// The vendor's function as a pointer of its type. `slot` remembers it.
template <class F>
F vendor_function(Library library, const char* name, void*& slot) noexcept {
  void* found = __atomic_load_n(&slot, __ATOMIC_ACQUIRE);
  if (found == nullptr) {
    found = vendor_symbol(library, name);
    __atomic_store_n(&slot, found, __ATOMIC_RELEASE);
  }
  return reinterpret_cast<F>(found);
}

/// Whether this thread is inside of a call that was passed on. The vendor's BLAS calls the vendor's
/// BLASLt by its public names; those calls are the vendor's own and are let through.
bool inside_vendor() noexcept;

/// While one lives, the thread is inside of the vendor.
class InsideVendor {
 public:
  InsideVendor() noexcept;
  ~InsideVendor();
  InsideVendor(const InsideVendor&) = delete;
  InsideVendor& operator=(const InsideVendor&) = delete;
};

}  // namespace detgemm::dropin

/// A function without name, which calls the vendor's own NAME of LIBRARY with these arguments. It
/// returns MISSING where the vendor has none.
#define DETGEMM_VENDOR_OF(LIBRARY, MISSING, NAME, ...)                                \
  [&]() -> int {                                                                      \
    using namespace detgemm::dropin;                                                  \
    static void* slot = nullptr;                                                      \
    const auto own = vendor_function<decltype(&NAME)>(Library::LIBRARY, #NAME, slot); \
    return own == nullptr ? static_cast<int>(MISSING) : own(__VA_ARGS__);             \
  }
