// Replaces platform/native/compute.cpp and kernels/lcg.cpp, to test that results of broken programs are rejected:
// KIVIAT_BROKEN_KERNEL=n skips every n-th kernel; KIVIAT_BROKEN_SEED=1 makes all seeds too large by two.
#include <cstdlib>

#include "kernels/lcg.hpp"
#include "platform/compute.hpp"

namespace kiviat {
namespace {

std::int64_t number_of(const char* variable) {
  const char* given = std::getenv(variable);
  return given ? std::atoll(given) : 0;
}

}  // namespace

void work::run(const Cost&, const std::function<void()>& kernel, Kernel) {
  static const std::int64_t lost = number_of("KIVIAT_BROKEN_KERNEL");
  static std::int64_t number = 0;
  if (lost == 0 || ++number % lost != 0) kernel();
}

double burn(std::int64_t, double x) { return x; }

std::uint64_t Lcg::usual_seed() { return 314159265 + 2 * static_cast<std::uint64_t>(number_of("KIVIAT_BROKEN_SEED")); }

std::uint64_t Lcg::seed_of_ep() { return 271828183 + 2 * static_cast<std::uint64_t>(number_of("KIVIAT_BROKEN_SEED")); }

}  // namespace kiviat
