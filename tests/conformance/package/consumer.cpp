// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// consumer ENGINE: tests the engine in a process of its own, against the contract's definition.

#include <cstdio>
#include <detgemm/conformance.hpp>

namespace conformance = detgemm::conformance;

int main(int, char** argv) {
  conformance::Options options;
  options.contracts = {*detgemm::Contract::parse("ieee_fma/fp32/chain->fp32")};
  options.engine_flag = std::string("--engine ") + argv[1];
  const auto report = conformance::run_isolated(options, {}, [&] {
    auto engine = conformance::load_engine(argv[1]);
    using Loaded = detgemm::Result<conformance::Candidate>;
    if (!engine) return Loaded(engine.status());
    const std::shared_ptr<detgemm::Backend> owned = std::move(engine).value();
    return Loaded({owned.get(), {&conformance::scalar_backend(), {}}, owned});
  });
  if (!report) {
    std::puts(report.status().message().c_str());
    return 2;
  }
  std::fputs(conformance::render_text({&*report, 1}).c_str(), stdout);
  return report->passed() ? 0 : 1;
}
