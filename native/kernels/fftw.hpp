// Fourier transforms by FFTW 3 in double precision, or MKL with the same interface, loaded at run time (M. Frigo,
// S. Johnson, "The design and implementation of FFTW3", Proc. IEEE 93(2), 2005: planner, guru interface).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "kernels/complex_kernels.hpp"

namespace kiviat {

inline constexpr int fft_planning_s = 2;  // time limit of one measured plan, in seconds

class Fftw {
 public:
  // Loads the library named by KIVIAT_FFTW (a path), else FFTW, else MKL. Returns null, and sets `why`, if there is
  // none.
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

// `count` transforms of length n: strides between elements and distances between transforms, in elements.
struct Transforms {
  std::int64_t n, count;
  std::int64_t in_stride, in_distance, out_stride, out_distance;
};

// Effort of the planner. Measured planning overwrites the data.
enum class Planning { measured, estimated };

class LocalFft {
 public:
  LocalFft() = default;
  // `sign` of the exponent: -1 forward, +1 backward, both unnormalised. The object converts to false if the library
  // cannot plan the transform.
  LocalFft(const Fftw& fftw, const Transforms& what, Complex* in, Complex* out, int sign, Planning planning);
  ~LocalFft();
  LocalFft(LocalFft&& other) noexcept;
  LocalFft& operator=(LocalFft&& other) noexcept;

  explicit operator bool() const { return plan_ != nullptr; }
  // Executes the transform; the memory must have the same alignment as the plan's, and `in` must equal `out` if and
  // only if it did in the plan.
  void operator()(Complex* in, Complex* out) const { fftw_->execute_(plan_, in, out); }

 private:
  const Fftw* fftw_ = nullptr;
  Fftw::Plan* plan_ = nullptr;
};

}  // namespace kiviat
