#include "bench/node/detours.hpp"

#include <numeric>

#include "ranked_test.hpp"

using namespace kiviat;

RANKED_TEST(detours_of_a_known_disturbance, 1) {
  // 1000 quanta of 100 µs; every tenth takes 5 µs more, and one of those 2 ms.
  std::vector<double> quanta(1000, 100e-6);
  for (std::size_t i = 0; i < quanta.size(); i += 10) quanta[i] += 5e-6;
  quanta[500] += 2e-3;
  const double total_s = 0.1 + 100 * 5e-6 + 2e-3;
  const auto near = [](double a, double b) { return std::abs(a - b) < 1e-9 * std::abs(b); };
  const Detours all = detours_of(quanta, 100e-6, 2e-6);
  EXPECT(near(all.share, (total_s - 0.1) / 0.1));
  EXPECT(near(all.worst_s, 2.005e-3));
  EXPECT(near(all.per_second, 100 / total_s));
  EXPECT(near(detours_of(quanta, 100e-6, 10e-6).per_second, 1 / total_s));
  EXPECT(detours_of(quanta, 100e-6, 1).per_second == 0);
}

RANKED_TEST(no_detours_where_all_quanta_are_the_same, 1) {
  const std::vector<double> quanta(10, 1e-4);
  const Detours none = detours_of(quanta, 1e-4, 0);
  EXPECT(std::abs(none.share) < 1e-12);
  EXPECT(none.worst_s == 0);
  EXPECT(none.per_second == 0);
}

RANKED_TEST(parts_hold_all_quanta_and_last_a_second_at_most, 1) {
  for (const double quantum_s : {1e-6, 100e-6, 0.4, 1.0, 3.0})
    for (const std::int64_t quanta : {1, 9, 10, 11, 10'000, 1'234'567}) {
      const auto parts = parts_of(quanta, quantum_s);
      EXPECT(std::accumulate(parts.begin(), parts.end(), std::int64_t{0}) == quanta);
      EXPECT(std::ranges::min(parts) >= 1);
      EXPECT((std::ranges::max(parts) == 1 || static_cast<double>(std::ranges::max(parts)) * quantum_s <= 1));
      EXPECT(parts.size() >= static_cast<std::size_t>(std::min<std::int64_t>(quanta, 10)));
    }
}
