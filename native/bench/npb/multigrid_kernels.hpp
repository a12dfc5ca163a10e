// Kernels of MG on planes of grids. All its operators are symmetric: a weight for the point itself, one for the 6
// points that share a face with it, one for the 12 across an edge, one for the 8 across a corner. RNR-94-007,
// section 2.3.
//
// Pointers are to point (0, 0) of a plane; there is one point more at either end of each side.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/target_clones.hpp"

namespace kiviat::npb {
namespace {

constexpr std::int64_t longest_row = 1024;

struct Weights {
  double point, face, edge, corner;
};

struct PlaneSize {
  std::int64_t points, rows;
  std::int64_t row;  // distance between rows, in elements
};

// Pointers to three successive planes.
struct ThreePlanes {
  const double *lower, *middle, *upper;
};

[[gnu::always_inline]] inline void add_rows(double* __restrict sum, const double* __restrict a,
                                            const double* __restrict b, std::int64_t points) {
  for (std::int64_t x = -1; x <= points; ++x) sum[x] = a[x] + b[x];
}

// to = base + weights applied to the middle one of three planes. The values of the 27 points that are equally far from
// the middle row are added first; each of these sums is used for three results.
KIVIAT_EVERY_WIDTH
void apply_to_plane(const Weights& weights, double* to, const double* base, const ThreePlanes& planes,
                    const PlaneSize& size) {
  const Weights w = weights;
  const std::int64_t points = size.points, rows = size.rows, row = size.row;
  const double *const lower = planes.lower, *const middle = planes.middle, *const upper = planes.upper;
  alignas(64) double memory[4][longest_row + 16];
  double *before = memory[0] + 8, *here = memory[1] + 8, *behind = memory[2] + 8, *const beside = memory[3] + 8;
  add_rows(before, lower - row, upper - row, points);
  add_rows(here, lower, upper, points);
  for (std::int64_t y = 0; y < rows; ++y) {
    const std::int64_t at = y * row;
    add_rows(behind, lower + at + row, upper + at + row, points);
    const double* const __restrict m = middle + at;
    const double* const __restrict f = before, * const __restrict g = here, * const __restrict h = behind;
    double* const __restrict s = beside;
    double* const result = to + at;
    const double* const start = base + at;
    for (const std::int64_t x : {std::int64_t{-1}, points}) {
      const double faces = m[x - row] + m[x + row] + g[x], edges = f[x] + h[x];
      s[x] = w.face * m[x] + w.edge * faces + w.corner * edges;
    }
#pragma omp simd
    for (std::int64_t x = 0; x < points; ++x) {
      const double faces = m[x - row] + m[x + row] + g[x], edges = f[x] + h[x];
      s[x] = w.face * m[x] + w.edge * faces + w.corner * edges;
      result[x] = start[x] + w.point * m[x] + w.face * faces + w.edge * edges;
    }
#pragma omp simd
    for (std::int64_t x = 0; x < points; ++x) result[x] += s[x - 1] + s[x + 1];
    double* const done = before;
    before = here, here = behind, behind = done;
  }
}

// Computes one plane of the coarser grid from three of the finer grid, with weights (1, 2, 1) / 4 along each axis. Its
// point (0, 0) is their point (offset_x, offset_y).
KIVIAT_EVERY_WIDTH
void restrict_to_plane(double* to, const PlaneSize& coarse, const ThreePlanes& planes, std::int64_t fine_row,
                       int offset_x, int offset_y) {
  const std::int64_t points = coarse.points, rows = coarse.rows, row = coarse.row;
  const double *const lower = planes.lower, *const middle = planes.middle, *const upper = planes.upper;
  alignas(64) double memory[longest_row + 16];
  double* const __restrict sum = memory + 8;
  for (std::int64_t y = 0; y < rows; ++y) {
    const std::int64_t at = (2 * y + offset_y) * fine_row;
    const double* const __restrict l = lower + at, * const __restrict m = middle + at, * const __restrict u = upper + at;
    for (std::int64_t x = offset_x - 1; x < 2 * points + offset_x; ++x) {
      const double beside = l[x - fine_row] + l[x + fine_row] + u[x - fine_row] + u[x + fine_row];
      sum[x] = beside + 2 * (m[x - fine_row] + m[x + fine_row] + l[x] + u[x]) + 4 * m[x];
    }
    double* const __restrict result = to + y * row;
    const double* const centre = sum + offset_x;
    constexpr double scale = 1.0 / 16;
    for (std::int64_t x = 0; x < points; ++x)
      result[x] = scale * (centre[2 * x - 1] + 2 * centre[2 * x] + centre[2 * x + 1]);
  }
}

// Adds the linear interpolation of the coarser grid to a plane of the finer one, which lies between planes `lower` and
// `upper`, or coincides with them if both are the same.
KIVIAT_EVERY_WIDTH
void add_interpolated(double* to, const PlaneSize& fine, const double* lower, const double* upper,
                      std::int64_t coarse_row, int offset_x, int offset_y) {
  const std::int64_t points = fine.points, rows = fine.rows, row = fine.row;
  alignas(64) double memory[longest_row + 16];
  double* const __restrict sum = memory + 8;
  const std::int64_t coarse_points = (points + 1 - offset_x) / 2;
  for (std::int64_t y = -1; y <= rows; ++y) {
    const std::int64_t first = ((y - offset_y) >> 1) * coarse_row, second = ((y - offset_y + 1) >> 1) * coarse_row;
    const double* const __restrict a = lower + first, * const __restrict b = lower + second;
    const double* const __restrict c = upper + first, * const __restrict d = upper + second;
    for (std::int64_t x = -1; x <= coarse_points; ++x) sum[x] = 0.25 * (a[x] + b[x] + c[x] + d[x]);
    double* const __restrict result = to + y * row;
    if (points % 2 == 0) {
      result[-1] += sum[-1];
#pragma omp simd
      for (std::int64_t x = 0; x < coarse_points; ++x) {
        result[2 * x] += 0.5 * (sum[x - 1] + sum[x]);
        result[2 * x + 1] += sum[x];
      }
      result[points] += 0.5 * (sum[coarse_points - 1] + sum[coarse_points]);
    } else {
      for (std::int64_t x = -1; x <= points; ++x)
        result[x] += 0.5 * (sum[(x - offset_x) >> 1] + sum[(x - offset_x + 1) >> 1]);
    }
  }
}

KIVIAT_EVERY_WIDTH
double squares_of_plane(const double* from, const PlaneSize& size) {
  const std::int64_t points = size.points, rows = size.rows, row = size.row;
  double sum = 0;
  for (std::int64_t y = 0; y < rows; ++y) {
    const double* const r = from + y * row;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t x = 0; x < points; ++x) sum += r[x] * r[x];
  }
  return sum;
}

}  // namespace
}  // namespace kiviat::npb
