// Several numbers of which the same is computed, side by side in vector registers. Compiled for processors of several
// widths, in functions that are KIVIAT_COMPILED_FOR them.
#pragma once

#include <array>
#include <cstring>

namespace kiviat {

class Lanes {
#if defined __x86_64__
  static constexpr int register_width = 4;
#else
  static constexpr int register_width = 2;
#endif
  using Register = double __attribute__((vector_size(8 * register_width)));

 public:
  static constexpr int width = 8;

  Lanes() = default;
  [[gnu::always_inline]] Lanes(double everywhere) {
    for (Register& part : parts_) part = everywhere - Register{};
  }
  [[gnu::always_inline]] explicit Lanes(const double* from) { std::memcpy(this, from, sizeof *this); }
  [[gnu::always_inline]] void store(double* to) const { std::memcpy(to, this, sizeof *this); }

  [[gnu::always_inline]] friend Lanes operator+(Lanes a, Lanes b) {
    for (std::size_t i = 0; i < registers; ++i) a.parts_[i] += b.parts_[i];
    return a;
  }
  [[gnu::always_inline]] friend Lanes operator-(Lanes a, Lanes b) {
    for (std::size_t i = 0; i < registers; ++i) a.parts_[i] -= b.parts_[i];
    return a;
  }
  [[gnu::always_inline]] friend Lanes operator*(Lanes a, Lanes b) {
    for (std::size_t i = 0; i < registers; ++i) a.parts_[i] *= b.parts_[i];
    return a;
  }
  [[gnu::always_inline]] friend Lanes operator/(Lanes a, Lanes b) {
    for (std::size_t i = 0; i < registers; ++i) a.parts_[i] /= b.parts_[i];
    return a;
  }
  [[gnu::always_inline]] Lanes operator-() const { return Lanes(-0.0) - *this; }
  [[gnu::always_inline]] Lanes& operator+=(Lanes b) { return *this = *this + b; }
  [[gnu::always_inline]] Lanes& operator-=(Lanes b) { return *this = *this - b; }
  [[gnu::always_inline]] Lanes& operator*=(Lanes b) { return *this = *this * b; }

 private:
  static constexpr std::size_t registers = width / register_width;
  Register parts_[registers];
};

}  // namespace kiviat
