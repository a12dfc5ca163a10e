// SIMD vector of doubles. Used in functions that KIVIAT_COMPILED_FOR compiles for several register widths.
#pragma once

namespace kiviat {

class Lanes {
#if defined __x86_64__
  static constexpr int register_width = 4;
#else
  static constexpr int register_width = 2;
#endif
  using Register = double __attribute__((vector_size(8 * register_width)));
  using Anywhere = double __attribute__((vector_size(8 * register_width), aligned(8), may_alias));

 public:
  static constexpr int width = 2 * register_width;

  Lanes() = default;
  [[gnu::always_inline]] Lanes(double everywhere) { low_ = everywhere - Register{}, high_ = everywhere - Register{}; }
  [[gnu::always_inline]] explicit Lanes(const double* from) {
    low_ = *reinterpret_cast<const Anywhere*>(from);
    high_ = *reinterpret_cast<const Anywhere*>(from + register_width);
  }
  [[gnu::always_inline]] void store(double* to) const {
    *reinterpret_cast<Anywhere*>(to) = low_;
    *reinterpret_cast<Anywhere*>(to + register_width) = high_;
  }

  [[gnu::always_inline]] friend Lanes operator+(Lanes a, Lanes b) {
    a.low_ += b.low_, a.high_ += b.high_;
    return a;
  }
  [[gnu::always_inline]] friend Lanes operator-(Lanes a, Lanes b) {
    a.low_ -= b.low_, a.high_ -= b.high_;
    return a;
  }
  [[gnu::always_inline]] friend Lanes operator*(Lanes a, Lanes b) {
    a.low_ *= b.low_, a.high_ *= b.high_;
    return a;
  }
  [[gnu::always_inline]] friend Lanes operator/(Lanes a, Lanes b) {
    a.low_ /= b.low_, a.high_ /= b.high_;
    return a;
  }
  [[gnu::always_inline]] Lanes root() const {
    Lanes result;
    for (int i = 0; i < register_width; ++i)
      result.low_[i] = __builtin_sqrt(low_[i]), result.high_[i] = __builtin_sqrt(high_[i]);
    return result;
  }
  [[gnu::always_inline]] Lanes operator-() const { return Lanes(-0.0) - *this; }
  [[gnu::always_inline]] Lanes& operator+=(Lanes b) { return *this = *this + b; }
  [[gnu::always_inline]] Lanes& operator-=(Lanes b) { return *this = *this - b; }
  [[gnu::always_inline]] Lanes& operator*=(Lanes b) { return *this = *this * b; }

 private:
  Register low_, high_;
};

}  // namespace kiviat
