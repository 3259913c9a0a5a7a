// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Every row of the tables in bad_input/, on every backend, through C++ and through C: the code,
// the sentence, and not one byte written.

#include <gtest/gtest.h>

#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "backends/skeleton/skeleton.hpp"
#include "tests/support/finds.hpp"
#include "tests/support/scratch_backend.hpp"
#include "tests/unit/bad_input/table.hpp"

namespace detgemm {
namespace {

using Interface = Status (*)(Call, const Backend&, const Problem&);
struct NamedInterface {
  const char* name;
  Interface interface;
  friend std::ostream& operator<<(std::ostream& out, const NamedInterface& d) {
    return out << d.name;
  }
};
constexpr NamedInterface kInterfaces[] = {{"cpp", call_cpp}, {"c", call_c}};

/// The skeleton, the skeleton with a workspace, and every backend of this build that runs here
/// on host memory.
std::vector<const Backend*> host_backends() {
  std::vector<const Backend*> list{&skeleton_backend(), &scratch_backend()};
  for (const Backend* backend : backends()) {
    if (backend->device().kind() == DeviceKind::host && backend->available()) {
      list.push_back(backend);
    }
  }
  return list;
}

/// The backend's own workspace: larger than the block that Problem has.
class Scratch {
 public:
  explicit Scratch(const Backend& backend) {
    Problem p;
    const auto plan = Plan::create(backend, p.spec, p.options);
    bytes_ = plan->workspace_bytes(Problem::m).value();
    memory_ = host_device().allocate(bytes_).value();
  }
  ~Scratch() { host_device().release(memory_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  /// Rows that spoil the workspace are about the scratch backend's, which fits in the block.
  void lend(Problem& p) const {
    if (bytes_ > p.workspace.bytes) p.workspace = {memory_, bytes_};
  }

 private:
  std::size_t bytes_ = 0;
  void* memory_ = nullptr;
};

class BadInputTest : public testing::TestWithParam<NamedInterface> {
 protected:
  void refuse_all(std::span<const BadInput> rows) {
    for (const Backend* backend : host_backends()) {
      const Scratch scratch(*backend);
      for (const BadInput& row : rows) {
        if (row.needs_workspace && backend != &scratch_backend()) continue;
        if (row.call == Call::gemm && backend != &skeleton_backend()) continue;  // its own choice
        SCOPED_TRACE(std::string(backend->name()) + " " + row.name);
        Problem p;
        scratch.lend(p);
        row.spoil(p);
        const Status status = GetParam().interface(row.call, *backend, p);
        EXPECT_EQ(name(status.code()), name(row.code));
        EXPECT_TRUE(test::finds(status.message(), row.sentence))
            << "said:   " << status.message() << "\nwanted: " << row.sentence;
        EXPECT_TRUE(p.untouched());
        ++refused_;
      }
    }
    EXPECT_GE(refused_, rows.size());
  }

  std::size_t refused_ = 0;
};

TEST_P(BadInputTest, Views) { refuse_all(bad_views()); }
TEST_P(BadInputTest, Overlaps) { refuse_all(bad_overlaps()); }
TEST_P(BadInputTest, Workspaces) { refuse_all(bad_workspaces()); }
TEST_P(BadInputTest, Specs) { refuse_all(bad_specs()); }
TEST_P(BadInputTest, Combines) { refuse_all(bad_combines()); }
TEST_P(BadInputTest, OneCalls) { refuse_all(bad_one_calls()); }

TEST_P(BadInputTest, OddInputsAreAccepted) {
  for (const Backend* backend : host_backends()) {
    const Scratch scratch(*backend);
    for (const OddInput& row : odd_inputs()) {
      if (row.call == Call::gemm && !find_backend(backend->name())) continue;
      SCOPED_TRACE(std::string(backend->name()) + " " + row.name);
      Problem p;
      scratch.lend(p);
      if (row.call == Call::gemm) {
        p.workspace = {};  // allocated by the call
        p.backend = backend->name();
      }
      row.change(p);
      const Status status = GetParam().interface(row.call, *backend, p);
      EXPECT_TRUE(status) << status.message();
      EXPECT_TRUE(p.untouched_outside_d());
      const bool no_outputs = p.operands.d.rows == 0 || p.operands.d.cols == 0;
      EXPECT_TRUE(!no_outputs || p.untouched_d());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, BadInputTest, testing::ValuesIn(kInterfaces),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(BadInputTable, HasAtLeastSixtyRowsOfDifferentNames) {
  std::set<std::string> names;
  std::size_t rows = 0;
  for (const auto table : {bad_views(), bad_overlaps(), bad_workspaces(), bad_specs(),
                           bad_combines(), bad_one_calls()}) {
    for (const BadInput& row : table) names.insert(row.name);
    rows += table.size();
  }
  EXPECT_GE(rows, 60U);
  EXPECT_EQ(names.size(), rows);
}

}  // namespace
}  // namespace detgemm
