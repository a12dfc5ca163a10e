// STREAM's loops and its check.
#include <vector>

#include "bench/hpcc/stream_arrays.hpp"
#include "ranked_test.hpp"

using namespace kiviat;
using namespace kiviat::test;

namespace {

// Two rounds of all four loops with every kind of stores.
std::array<double, 3> errors_of(const StreamKernels& kernels, int threads, std::size_t lines, std::size_t broken,
                                double by) {
  const StreamLayout layout(3 * lines * StreamLayout::line * sizeof(double));
  const HugePages pages(3 * layout.stride * sizeof(double));
  StreamArrays arrays(pages.as<double>(), layout, threads, 17, 1000);
  arrays.fill();
  for (int round = 0; round < 2; ++round)
    for (const StreamLoopTraits& loop : stream_loops) arrays.run(loop.loop, kernels, arrays.count());
  if (by != 1) arrays.a()[broken] *= by;
  return arrays.errors();
}

}  // namespace

RANKED_TEST(stream_passes_with_all_stores_and_threads, 1) {
  for (const StreamKernels& kernels : stream_kernels())
    for (const int threads : {1, 2, 3})
      for (const std::size_t lines : {1, 2, 1001, 40'000})
        for (const double error : errors_of(kernels, threads, lines, 0, 1)) EXPECT(error <= StreamArrays::most_error);
}

RANKED_TEST(stream_notices_one_wrong_element, 1) {
  const StreamKernels kernels = stream_kernels().front();
  for (const std::size_t broken : {0, 319'000, 123'456}) {
    const std::array<double, 3> errors = errors_of(kernels, 1, 40'000, broken, 1 + 1e-6);
    EXPECT(errors[0] > StreamArrays::most_error);
    EXPECT(errors[1] <= StreamArrays::most_error);
  }
  EXPECT(!(errors_of(kernels, 1, 100, 5, NAN)[0] <= StreamArrays::most_error));
}

// Correct results at wrong positions must be detected.
RANKED_TEST(stream_notices_elements_that_changed_places, 1) {
  StreamKernels kernels = stream_kernels().front();
  kernels.copy = [](double* to, const double* from, std::size_t count) {
    std::copy_n(from, count, to);
    std::swap(to[3], to[40]);
  };
  for (const double error : errors_of(kernels, 1, 100, 0, 1)) EXPECT(error > StreamArrays::most_error);
}

RANKED_TEST(stream_arrays_take_the_memory_they_were_given, 1) {
  for (const std::size_t bytes :
       {std::size_t{1024}, std::size_t{100'000}, std::size_t{4} << 20, std::size_t{1} << 40}) {
    const StreamLayout layout(bytes);
    EXPECT(3 * layout.stride * sizeof(double) <= bytes);
    EXPECT(static_cast<double>(3 * layout.count * sizeof(double)) >= 0.93 * static_cast<double>(bytes));
    EXPECT(layout.stride * sizeof(double) % 64 == 0);
  }
}
