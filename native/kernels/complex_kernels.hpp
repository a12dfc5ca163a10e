// Memory kernels for complex numbers: copies of short runs, and transpositions.
#pragma once

#include <complex>
#include <cstdint>

namespace kiviat {

using Complex = std::complex<double>;

// When written data will be read again. `late`: written with non-temporal stores, if the processor has them, which
// bypass the cache and avoid reading the lines first.
enum class Reuse { soon, late };

// A strided copy: `runs` runs of `length` contiguous elements, with the given distances between their starts.
struct Runs {
  std::int64_t runs, length, from_distance, to_distance;
};
// Copies runs. If `next` is not null, prefetches the next copy's source from there.
void copy_runs(Complex* to, const Complex* from, const Runs& what, Reuse reuse, const Complex* next = nullptr);

// Transposes: row i of `to` becomes column i of `from`, which has `count` columns and `rows` rows. `to_line` and
// `from_line` are distances between rows in elements.
void turn(Complex* to, std::int64_t to_line, const Complex* from, std::int64_t from_line, std::int64_t count,
          std::int64_t rows, Reuse reuse);

// Transposes as turn() into contiguous rows, and multiplies element (i, r) by coarse[i] * fine[i * fine_line + r].
void turn_times(Complex* to, const Complex* from, std::int64_t from_line, std::int64_t count, std::int64_t rows,
                const Complex* coarse, const Complex* fine, std::int64_t fine_line, Reuse reuse);

// Fence after non-temporal stores: to be called before other threads or ranks read data written for late reuse.
void all_written();

}  // namespace kiviat
