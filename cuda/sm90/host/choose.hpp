// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <span>

#include "cuda/families.hpp"
#include "cuda/sm90/host/choose_leaves.hpp"
#include "cuda/sm90/tile/geometry.hpp"
#include "cuda/sm90/tile/raster.hpp"

namespace detgemm::cuda::sm90 {

/// Rules by which kernels refuse arrays.
inline constexpr const char* kNeedsAlignment =
    "it reads operands through TMA, which needs extents below 2^30, rows at multiples of 16 bytes "
    "and "
    "leaves of whole blocks of 64 k";

/// The geometries that are compiled, and those of a decision.
std::span<const Geometry> geometries_of(Family family);
const Geometry& geometry_of(const Decision& d);

/// The least K for which clusters of four are chosen. At K = 4096 they were up to 12 % slower than
/// the model of time says, and at 8192 and beyond never (docs/log/sm90.md).
inline constexpr std::int64_t kQuadLeastK = 8192;

/// How the CTAs of a decision share leaves.
Sharing sharing_of(const Decision& d);

/// Fills in what a Question says about arrays, which are not read. A fold or tree of a single leaf
/// from +0 is the chain, and so is one of no leaf, unless a kernel of fold and tree is forced.
void ask(const GemmArguments& g, Question& q);

/// FamilyRow::usual: row-major arrays, with all rows at multiples of 16 bytes. Any number of
/// multiprocessors, and room for clusters.
Question usual_question(const GemmSpec& spec, std::int64_t m);

/// FamilyRow::why_not and FamilyRow::choose. The cheapest by a model of time is chosen:
/// predicted_time, predicted_realign_time or predicted_leaf_time.
const char* why_not(const Question& q);
Choice choose(const Question& q);

/// Many problems in one launch, of which the model is told the average.
struct Many {
  double groups = 1;
  double cut = 1;      ///< tiles along the tokens per tile of the average, as groups differ in size
  double missing = 0;  ///< rows of a box of tokens that are past the array, on average
  double again = 0;    ///< share of the weights that memory gives a second time, for second tiles
  double apart = 0;    ///< tokens per tile that, if swapped, are stored output by output
  bool on_x = false;   ///< `apart` holds for tokens along x too
  bool general = false;    ///< all of D leaves by ordinary stores, whose lines run along y
  bool pieces = false;     ///< boxes of D cut a tile evenly, as those of leaves do
  bool activates = false;  ///< by more than relu
};

/// Microseconds that the model expects of a geometry; the smallest wins. `parts`: CTAs that share
/// the k of a tile. With `many` it is the time of all groups, and tokens run along x, or, if
/// swapped, along y.
double predicted_time(const Geometry& t, std::int64_t x_rows, std::int64_t y_rows, std::int64_t k,
                      int sms, bool swapped, int parts = 1, const Many& many = {});

/// Microseconds of the gather kernels for so many tiles of theirs, in all groups together. An
/// estimate: a full device reaches 46 TFLOP/s by it.
double predicted_gather_time(double tiles, std::int64_t k, int sms);

/// The width of stripes along x, in tiles: so wide that a stripe's share of the CTAs is about as
/// high as it is wide. In one wave all tiles run together, whatever the stripes. What counts then
/// are the 16 consecutive CTAs that the hardware puts on the same cluster of multiprocessors (GPC),
/// because L2 answers their reads of one line once. CTAs of clusters are distributed one by one.
int stripe(const Geometry& t, int tiles_x, int tiles_y, int ctas);

/// The raster of an output of x_rows by y_rows in tiles of `t`, of which `ctas` run at a time.
Raster raster_of(const Geometry& t, std::int64_t x_rows, std::int64_t y_rows, std::int64_t ctas);

}  // namespace detgemm::cuda::sm90
