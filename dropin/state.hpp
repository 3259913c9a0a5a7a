// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "detgemm/backend.hpp"
#include "dropin/policy.hpp"

namespace detgemm::dropin {

/// The policy of this process, which was read when the library was loaded. A fault in the file ends
/// the program with status 2 and a sentence per fault on stderr.
const Policy& policy();

/// Reads another text in place of the file's, for tests: what was counted and planned is forgotten.
/// False, and the faults are in `faults`, where it has any.
bool set_policy(std::string_view text, std::vector<std::string>& faults);

/// The backend that computes, or why there is none. The reference is started when it is asked for.
Result<const Backend*> backend();

/// Prints a sentence on stderr, with the project's name before it.
void say(std::string_view sentence) noexcept;

/// Forgets every plan.
void forget_plans() noexcept;
/// Around a fork: no other thread is inside of the table of plans.
void lock_plans() noexcept;
void unlock_plans() noexcept;

/// The same for what a stand-in remembers of the vendor's handles or descriptions; defined by each
/// stand-in.
void lock_handles() noexcept;
void unlock_handles() noexcept;

/// The backend that the stand-in's vendor means where the file names none: "cuda" or "hip".
extern const char* const kVendorBackend;

}  // namespace detgemm::dropin
