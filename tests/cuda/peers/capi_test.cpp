// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include "core/capi/handles.hpp"
#include "detgemm/detgemm_cluster.h"
#include "tests/cuda/peers/jobs.hpp"

// Windows of devices through the C interface.

namespace detgemm::test {
namespace {

using namespace cluster;

TEST(CudaPeersInC, ACommunicatorAndAPlan) {
  constexpr int kRanks = 3;
  detgemm_transport_t* transports[kRanks] = {};
  ASSERT_EQ(detgemm_transport_threads(kRanks, transports), DETGEMM_OK);
  std::vector<std::thread> all;
  for (int r = 0; r < kRanks; ++r) {
    all.emplace_back([&, r] {
      cudaSetDevice(r);
      detgemm_communicator_options_t options;
      detgemm_communicator_t* ranks = nullptr;
      detgemm_communicator_options_init(&options, sizeof options);
      options.window_bytes = 1 << 20;
      options.window_backend = capi::handle_of(&peer_backend());
      ASSERT_EQ(detgemm_communicator_create(transports[r], &options, &ranks), DETGEMM_OK)
          << detgemm_last_error();
      detgemm_transport_destroy(transports[r]);
      std::int32_t yes = 0;
      EXPECT_EQ(detgemm_communicator_has_windows(ranks, &yes), DETGEMM_OK);
      EXPECT_EQ(yes, 1);
      char text[512];
      EXPECT_EQ(detgemm_communicator_describe(ranks, text, sizeof text, nullptr), DETGEMM_OK);
      EXPECT_NE(std::string(text).find("bytes on 3 ranks' devices"), std::string::npos) << text;

      detgemm_contract_t contract;
      detgemm_gemm_spec_t spec;
      detgemm_cluster_options_t choices;
      detgemm_cluster_plan_t* plan = nullptr;
      detgemm_contract_init(&contract, sizeof contract);
      detgemm_contract_parse(kContract, &contract);
      detgemm_gemm_spec_init(&spec, sizeof spec);
      spec.contract = &contract;
      spec.n = 8;
      spec.k = 256;
      detgemm_cluster_options_init(&choices, sizeof choices);
      choices.algorithm = DETGEMM_TWO_SHOT;
      EXPECT_EQ(detgemm_row_parallel_create(ranks, capi::handle_of(&peer_backend()), &spec,
                                            &choices, &plan),
                DETGEMM_OK)
          << detgemm_last_error();
      EXPECT_EQ(detgemm_cluster_plan_describe(plan, 40, text, sizeof text, nullptr), DETGEMM_OK);
      EXPECT_NE(std::string(text).find("two_shot in pieces of"), std::string::npos) << text;
      detgemm_cluster_plan_destroy(plan);
      choices.algorithm = DETGEMM_PUSH;
      plan = nullptr;
      EXPECT_EQ(detgemm_row_parallel_create(ranks, capi::handle_of(&peer_backend()), &spec,
                                            &choices, &plan),
                DETGEMM_OK)
          << detgemm_last_error();
      EXPECT_EQ(detgemm_cluster_plan_describe(plan, 40, text, sizeof text, nullptr), DETGEMM_OK);
      EXPECT_NE(std::string(text).find("push in pieces of"), std::string::npos) << text;
      detgemm_cluster_plan_destroy(plan);
      detgemm_communicator_destroy(ranks);
    });
  }
  for (std::thread& one : all) one.join();
}

}  // namespace
}  // namespace detgemm::test
