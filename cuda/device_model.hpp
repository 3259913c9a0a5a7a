// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>

namespace detgemm::cuda {

/// What the models of time read of a device, by the kind of kernel. They
/// decide which kernel is taken, and no bit. Another device is another value of this struct. Times
/// are in microseconds, rates in bytes per microsecond, unless a comment says otherwise.
struct DeviceModel {
  /// Chains on wgmma (sm90/host/choose.cpp; docs/sm90.md). Most were fitted to measured times of
  /// every geometry; `bench/fit/replay.py` says what the choices cost over all recorded times.
  struct Chain {
    double clock = 1712;          // MHz
    double sharp = 5.77;          // how sharply the slowest resource dominates
    double floor_one = 17.9;      // clocks of a k16 step in the chain of one group, at least
    double floor_two = 28.1;      // in those of more groups
    double fill_bytes = 74.4;     // per clock into one multiprocessor's shared memory
    double missing = 6;           // a row past an array's end takes the time of so many
    double narrow = 12;           // clocks of a k16 step more where two groups share 32 columns
    double behind = 0.25;         // of a step, for one of a stage behind a short K
    double tile_clocks = 260;     // per tile, whatever it holds
    double box_clocks = 400;      // per epilogue box
    double activate = 100;        // per column of 64 outputs of a group, for gelu and silu
    double turn_clocks = 300;     // from a tile to the next where groups take them in turn
    double start = 0.73;          // us per launch
    double pair_start = 0.31;     // us more for clusters
    double quad_start = 1.3;      // and for clusters of four
    double pair_once = 0.97;      // fill where a pair alone reads what memory streams to it
    double pair_again = 1.15;     // fill of other pairs of 64 rows, in small boxes
    double pair_large = 1.051;    // and of more rows
    double pair_steps = 1.014;    // and each of their CTAs waits for its neighbour
    double quad_fill = 84.7;      // bytes per clock into a CTA of a quad: 145 GB/s, as cuBLASLt's
    double quad_requests = 53.7;  // of these, that it requests of L2: 92 GB/s
    double quad_streamed = 0.65;  // longer for its own rows where memory streams them
    double swapped = 0.01;        // between equals, M is on the x side from 512 tokens on
    double three = 1.03;          // three groups that wait for each other's stages
    double three_light = 1.15;    // the same of at most 80 columns in more than two waves
    double short_k = 0.93;        // where one geometry stores fastest, see stores_fast
    double light = 0.2;           // 128 x 112 and lighter, whose weights on the x side are streamed
    double wide_stream = 0.0086;  // few tokens against more than 112 weights, per 128 more
    double apart = 1.6;           // clocks per output that is stored by itself
    double general_tile = 4200;   // clocks of the general epilogue per tile, and per output
    double general = 0.21;        // where the lines of D run along y
    double narrow_stripe = 0.1;   // see narrow_stripe
    double memory_rate = 4.68e6;  // bytes per us from device memory, and its start in us
    double memory_start = 2.7;
    double shared_start = 0.8;  // less of that start where a chain is cut into many parts
    double output_rate = 4e6;
    double cache = 50e6;          // bytes that L2 holds
    double again = 0.35;          // see read_again
    double streamed_again = 0.1;  // see streamed_again
    double idle_in_one = 0.59;    // see idle_readers
    double idle_in_more = 0.3;
    double not_noticed = 0.05;
    double ring_bytes = 190e3;    // that a CTA requests before it waits
    double stream_rate = 14.8e6;  // bytes per us out of L2 for an operand above resident
    double reuse_rate = 19.3e6;   // for a smaller one, which many CTAs read at about the same time
    double resident = 25.6e6;
    double cache_start = 1.72;
    double power = 914e6;          // FLOP per us at the clock that power allows
    double gather_block = 3;       // us of a gather tile per block of 32 k
    double power_per_edge = 5.16;  // small tiles move more bytes per FLOP, which costs power
  } chain;

  /// Folds and trees (sm90/host/choose_leaves.cpp; docs/sm90.md). Over 205 problems, of 1 to 32768
  /// tokens, the choice costs 0.9 % against the best kernel.
  struct Leaves {
    double leaf = 0.11;  // us per leaf, unless leaves are taken in turn
    double turn = 0.08;  // us per leaf, for tiles whose leaves are added when they have ended
    // The same in kernels of folds: with one group, with two, and where they take turns.
    double fold_one = 0.11, fold_two = 0.04, fold_turn = 0.015;
    double turn_tree = 1.65;  // added for a tree, whose sums wait in the workspace
    double cluster = 0.044, cluster_kib = 0.052;  // us per part, and per KiB of a slot
    double grid = 1.7, grid_kib = 0.128;
    // In wide tiles: us per leaf and tile, and per level of sums that pass through the workspace.
    double tree_leaf = 0.3, tree_run = 3;
    double tree_wide = 1.05;     // more than 160 columns
    double swapped_tree = 1.08;  // deep trees in several waves with weights on the x side
    double pair_tree = 1.02;     // trees gain nothing from pairs of 128x128
    double pair_from_c = 1.02, alone_from_c = 1.03;  // and from C, 128x128 loses to 128x192
    // A chain waits for itself: us before its first k16 step, per stage, and per step, at least.
    double first = 3.5, stage = 0.107, step = 0.0075;
  } leaves;

  /// e4m3 (sm90/host/fp8_model.cpp), fitted to times of every tile of `scaled` and `fold`
  /// (bench/results/2026-11-23-h200-fp8.md, the last run of every tile): a root of the mean squared
  /// error of 7 %, and choices that cost 0.5 % against the best tile, 4 % at worst.
  struct Fp8 {
    double clock = 1831;      // MHz
    double multiply = 2.125;  // clocks of 128 k per column of a group: wgmma takes 2
    // Clocks per block of 128 k, whatever it holds, and for one behind which a leaf joins: with one
    // group, with two, with leaves of 192 columns, and with two blocks of rows per group.
    double wait[4] = {153, 119, 119, 119};
    double leaf[4][3] = {{132, 267, 593}, {85, 204, 726}, {209, 118, 860}, {136, 222, 0}};
    double pair = 1.04;          // pairs of CTAs where L2 keeps up
    double store = 9.1;          // clocks of a tile's epilogue per column of a group
    double tile = 0;             // and whatever it holds
    double start = 2.0;          // us per launch
    double memory_rate = 3.7e6;  // bytes per us from device memory, and its start in us
    double memory_start = 2.7;
    double output_rate = 2.6e6;
    double cache_rate = 11e6;  // bytes per us out of L2, and its start in us
    double cache_start = 0.36;
    double sharp = 7.8;     // how sharply the slowest of the three dominates
    double swapped = 1.01;  // between equals, M is on the x side
  } fp8;
  /// The same where 128 columns share a scale, fitted to times of every tile for 38 products, 26 of
  /// them drawn (bench/results/2026-11-28-h200-fp8.md): a root of the mean squared error of 6 %,
  /// and choices that cost 0.2 % against the best tile, 9 % at worst.
  Fp8 fp8_shared{.clock = 1695,
                 .multiply = 1.727,
                 .leaf = {{0, 171.5, 0}, {0, 188.4, 0}, {0, 266.8, 0}, {0, 384.7, 0}},
                 .store = 4.82,
                 .tile = 828,
                 .start = 1.27,
                 .memory_rate = 3.87e6,
                 .memory_start = 1.78,
                 .output_rate = 2.51e6,
                 .cache_rate = 12.4e6,
                 .cache_start = 1.14,
                 .sharp = 4.64};

  /// Copies of operands (sm90/host/packing.cpp; docs/log/sm90.md).
  struct Pack {
    double start = 2.0;   // us per launch
    double rate = 3.6e6;  // bytes per us, read and written
  } pack;

  /// Multiply-adds per clock on one multiprocessor: full of CTAs, and with a single one.
  struct Rate {
    double full, alone;
  };
  /// CUDA cores (simt/choose.cpp; docs/simt.md).
  struct Simt {
    /// In the order of kTiles of simt/tile.hpp.
    std::array<Rate, 17> rates{{
        {91.5, 51},
        {92, 72},
        {88, 36},
        {79, 49},
        {73, 39},
        {50, 12},
        {18.4, 4.2},
        {18.4, 4.2},
        {24, 14},
        {33, 30},
        {36, 33},
        {58, 52},
        {46, 44},
        {62, 60},
        {72, 64},
        {80, 70},
        {81, 54},
    }};
    /// That memory gives one multiprocessor per clock while all of them read.
    double bytes_per_clock = 16.5;
    /// What a CTA costs besides its products: the first loads and the epilogue, in clocks.
    double tile_clocks = 2500;
    double meet = 0.7;  ///< of the difference, where two of the last tiles share a multiprocessor
  } simt;

  /// mma.sync (mma/choose.cpp): one multiprocessor, fitted to times of every tile of 27 problems,
  /// 16 of them drawn: a root of the mean squared error of 7 %, and choices that cost 0.3 % against
  /// the fastest tile, 3 % at worst (tests/results/2026-11-28-h200-mma-even.md).
  struct Mma {
    double products_per_clock = 1119;
    double shared_per_clock = 123;  ///< bytes of shared memory, read and written
    double fill_per_clock = 59;     ///< bytes from L2
    double read_per_clock = 16.4;   ///< bytes from memory while all of them read
    double step_clocks = 54;        ///< of a dependent chain of instructions
    double issue_clocks = 4.2;      ///< of each instruction mma.sync of a warp
    double stage_clocks = 16;       ///< that a CTA waits per stage
    double latency = 1755;          ///< clocks from the first copy of a stage to its bytes
    double sharp = 4.1;             ///< how sharply the slowest of these dominates
    double tile_clocks = 1370;      ///< the first loads and the epilogue
    double start_clocks = 1690;     ///< per launch
  } mma;
};

/// An H200, the one device that was fitted.
inline constexpr DeviceModel kH200{};

/// The model that choosers read. Every device is taken for an H200 so far: this is the place where
/// a second model is chosen.
constexpr const DeviceModel& device_model() { return kH200; }

}  // namespace detgemm::cuda
