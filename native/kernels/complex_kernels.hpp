// Complex numbers on their way through memory: what transposes, and runs of a few cache lines.
#pragma once

#include <complex>
#include <cstdint>

namespace kiviat {

using Complex = std::complex<double>;

// When written data is read again. Data that is read late goes to memory with non-temporal stores if the
// processor has them, without reading the lines first.
enum class Reuse { soon, late };

// `runs` runs of `length` elements, whose beginnings lie as far apart as is said.
struct Runs {
  std::int64_t runs, length, from_distance, to_distance;
};
// If `next` is not null, prefetches from there what will be copied next.
void copy_runs(Complex* to, const Complex* from, const Runs& what, Reuse reuse, const Complex* next = nullptr);

// Row i of the result is column i of `from`, of `count` columns and `rows` rows.
void turn(Complex* to, std::int64_t to_line, const Complex* from, std::int64_t from_line, std::int64_t count,
          std::int64_t rows, Reuse reuse);

// Likewise, element (i, r) of the result, whose rows follow each other, times coarse[i] fine[i fine_line + r].
void turn_times(Complex* to, const Complex* from, std::int64_t from_line, std::int64_t count, std::int64_t rows,
                const Complex* coarse, const Complex* fine, std::int64_t fine_line, Reuse reuse);

// To be called before others read what was written for late reuse.
void all_written();

}  // namespace kiviat
