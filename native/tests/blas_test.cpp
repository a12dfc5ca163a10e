// Finding a BLAS, choosing OpenBLAS's core type, agreement among ranks, and the check of DGEMM's results.
#include "kernels/blas.hpp"

#include <cmath>
#include <cstdlib>

#include "bench/hpcc/agreed.hpp"
#include "bench/hpcc/product.hpp"
#include "driver/runner.hpp"
#include "helpers.hpp"
#include "ranked_test.hpp"

using namespace kiviat;
using namespace kiviat::test;

RANKED_TEST(a_blas_is_found_and_computes, 1) {
  const Blas blas = find_blas();
  EXPECT(!blas.name.empty());
  EXPECT(contains(blas.path, "/"));
  // A 2 x 2 and a 2 x 3 matrix with a distance of 4 elements between columns.
  const double a[] = {1, 2, 0, 0, 3, 4, 0, 0}, b[] = {1, 1, 0, 0, 2, 0, 0, 0, 0, 3, 0, 0};
  double c[] = {10, 10, -1, -1, 10, 10, -1, -1, 10, 10, -1, -1};
  blas.gemm(2, 3, 2, 2, a, 4, b, 4, 0.5, c, 4);
  const double expected[] = {13, 17, -1, -1, 9, 13, -1, -1, 23, 29, -1, -1};
  for (int i = 0; i < 12; ++i) EXPECT(c[i] == expected[i]);
  // Elements on and above the diagonal must be ignored.
  const double l[] = {7, 2, 9, 7};
  double x[] = {1, 5, 3, 5};
  blas.trsm(2, 2, l, 2, x, 2);
  EXPECT((std::vector<double>(x, x + 4) == std::vector<double>{1, 3, 3, -1}));
}

RANKED_TEST(a_blas_that_is_none_is_named, 1) {
  setenv("KIVIAT_BLAS", "/nowhere/libblas.so", 1);
  const std::string absent = thrown<Skip>([] { find_blas(); });
  setenv("KIVIAT_BLAS", "libm.so.6", 1);
  const std::string other = thrown<Skip>([] { find_blas(); });
  unsetenv("KIVIAT_BLAS");
  EXPECT(contains(absent, "KIVIAT_BLAS=/nowhere/libblas.so"));
  EXPECT(contains(other, "not a BLAS library with dgemm and dtrsm"));
}

// Debian's OpenBLAS 0.3.21 took a processor that was newer than itself for a Prescott, and ran at a fifth of its speed.
RANKED_TEST(openblas_is_told_of_processors_it_does_not_know, 1) {
  const std::string haswell = "fpu sse2 avx avx2 fma", skylake = haswell + " avx512f avx512dq avx512vl";
  EXPECT(better_core("Prescott", haswell) == "Haswell");
  EXPECT(better_core("Prescott", skylake) == "SkylakeX");
  EXPECT(better_core("Prescott", haswell + " avx512f") == "Haswell");
  EXPECT(better_core("Sandybridge", haswell) == "Haswell");
  EXPECT(better_core("Prescott", "fpu sse2 avx") == "");
  EXPECT(better_core("Zen", haswell) == "");
  EXPECT(better_core("SkylakeX", skylake) == "");
}

namespace {

struct Library {
  std::string name;
  std::string words() const { return name; }
};

}  // namespace

RANKED_TEST(all_ranks_agree_on_a_library_or_skip, 2, 4) {
  Session session(world.comm);
  const Case spec{"case", "dgemm", {}};
  Trial t(spec, find_benchmark("dgemm"), session, world.comm);
  EXPECT(agreed(t, [] { return Library{"same"}; }).name == "same");
  const auto absent_on = [&](int rank) {
    return thrown<Skip>(
        [&] { agreed(t, [&] { return world.rank == rank ? throw Skip("no such library") : Library{"same"}; }); });
  };
  EXPECT(absent_on(1) == "rank 1: no such library");
  EXPECT(absent_on(0) == "rank 0: no such library");
  const std::string other =
      thrown<Skip>([&] { agreed(t, [&] { return Library{world.rank == 1 ? "theirs" : "ours"}; }); });
  EXPECT(contains(other, "rank 1: finds theirs, but rank 0 finds ours"));
}

RANKED_TEST(one_wrong_element_of_a_product_is_noticed, 1) {
  for (const std::int64_t n : {1, 5, 64}) {
    std::vector<double> memory(static_cast<std::size_t>(Product::doubles(n)));
    Product product(n, 3, memory.data());
    product.generate(1);
    EXPECT(!(product.residual() < 16));  // as if C had not been multiplied by beta
    product.multiply(find_blas());
    EXPECT(product.residual() < 1);
    for (const std::size_t at : {std::size_t{0}, product.c().size() / 2, product.c().size() - 1}) {
      const double before = product.c()[at];
      product.c()[at] = before + 1e-9;
      EXPECT(!(product.residual() < 16));
      product.c()[at] = NAN;
      EXPECT(!(product.residual() < 16));
      product.c()[at] = before;
    }
    EXPECT(product.residual() < 1);
  }
}

RANKED_TEST(rates_are_per_rank, 1, 2) {
  Session session(world.comm);
  for (const char* scope : {"single", "star"}) {
    const Result result = run_case({"case", "dgemm", {{"n", "40"}, {"scope", scope}}}, session);
    EXPECT(result.check == "passed");
    if (world.rank != 0) continue;
    const auto value = [&](const char* name) { return result.summary(*result.metric(name)).max.value_or(NAN); };
    EXPECT(value("rate_min") > 0);
    EXPECT(value("rate_min") <= value("rate"));
    if (std::string(scope) == "single") EXPECT(value("rate_min") == value("rate"));
  }
}
