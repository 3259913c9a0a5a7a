// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <iostream>
#include <stdexcept>
#include <string>

#include "detgemm/detgemm.h"

// What the programs of this folder share: lines of problems in, lines of answers out, through the C
// interface and the reference on one thread.

namespace detgemm::tests {

struct Refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline void ok(detgemm_status_t code) {
  if (code != DETGEMM_OK) throw Refused(detgemm_last_error());
}

/// Prints `answer(backend, line)` for every line of the standard input, or ! and the sentence of a
/// refusal. Returns the program's exit status.
template <class Answer>
int answer_lines(Answer answer) {
  const detgemm_backend_t* backend = nullptr;
  try {
    detgemm_runtime_options_t one;
    ok(detgemm_runtime_options_init(&one, sizeof one));
    one.threads = 1;
    ok(detgemm_runtime_start(&one));
    ok(detgemm_backend_find("reference", &backend));
  } catch (const Refused& refused) {
    std::cerr << refused.what() << '\n';
    return 1;
  }
  for (std::string line; std::getline(std::cin, line);) {
    try {
      std::cout << answer(backend, line) << std::endl;
    } catch (const Refused& refused) {
      std::cout << "! " << refused.what() << std::endl;
    }
  }
  return detgemm_runtime_stop() == DETGEMM_OK ? 0 : 1;
}

}  // namespace detgemm::tests
