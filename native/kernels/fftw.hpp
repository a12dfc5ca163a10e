// Fourier transforms of the node's own library: FFTW 3 in double precision, or MKL under the same names. It is found
// where the program runs, so that nothing is linked to it (M. Frigo, S. Johnson, "The design and implementation of
// FFTW3", Proc. IEEE 93(2), 2005: planner, guru interface).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "kernels/complex_kernels.hpp"

namespace kiviat {

inline constexpr int fft_planning_s = 2;  // that the planner may try variants of one plan, where it measures

class Fftw {
 public:
  // The first that is there: KIVIAT_FFTW (a file), FFTW, MKL. Null, and why, where there is none.
  static const Fftw* find(std::string& why);
  std::string name() const;  // "fftw-3.3.10-sse2-avx, /usr/lib/..."

 private:
  friend class LocalFft;
  struct Dimension {
    std::ptrdiff_t n, in_stride, out_stride;
  };
  using Plan = void;
  Plan* (*plan_)(int, const Dimension*, int, const Dimension*, Complex*, Complex*, int, unsigned) = nullptr;
  void (*execute_)(Plan*, Complex*, Complex*) = nullptr;
  void (*destroy_)(Plan*) = nullptr;
  void (*limit_time_)(double) = nullptr;
  std::string version_, path_;
};

// `count` transforms of length n, whose elements and whose beginnings lie as far apart as is said, in elements.
struct Transforms {
  std::int64_t n, count;
  std::int64_t in_stride, in_distance, out_stride, out_distance;
};

// Effort of the planner. A measured plan overwrites the data.
enum class Planning { measured, estimated };

class LocalFft {
 public:
  LocalFft() = default;
  // `sign` of the exponent: -1 forward, +1 backward, both without a factor.
  LocalFft(const Fftw& fftw, const Transforms& what, Complex* in, Complex* out, int sign, Planning planning);
  ~LocalFft();
  LocalFft(LocalFft&& other) noexcept;
  LocalFft& operator=(LocalFft&& other) noexcept;

  explicit operator bool() const { return plan_ != nullptr; }
  // Transforms any memory with the alignment of the plan's, as complex numbers have; in place if the plan
  // was.
  void operator()(Complex* in, Complex* out) const { fftw_->execute_(plan_, in, out); }

 private:
  const Fftw* fftw_ = nullptr;
  Fftw::Plan* plan_ = nullptr;
};

}  // namespace kiviat
