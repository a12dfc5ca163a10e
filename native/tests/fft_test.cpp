// The distributed transform compared with the definition, and faults that its checks must detect.
#include <cmath>
#include <numbers>
#include <vector>

#include "bench/hpcc/fft_check.hpp"
#include "bench/hpcc/fft_shape.hpp"
#include "driver/runner.hpp"
#include "helpers.hpp"
#include "ranked_test.hpp"

using namespace kiviat;
using namespace kiviat::test;

namespace {

constexpr std::uint64_t signal_seed = 5;

const Fftw& fftw() {
  std::string why;
  const Fftw* found = Fftw::find(why);
  if (!found) throw std::runtime_error(why);
  return *found;
}

// Communicators of the first `size` ranks and of the others.
struct Some {
  Some(const World& world, int size) : within(world.rank < size) { MPI_Comm_split(world.comm, within, 0, &comm); }
  ~Some() { MPI_Comm_free(&comm); }
  bool within;
  MPI_Comm comm = MPI_COMM_NULL;
};

// This rank's part of the result of a forward transform, and of a forward and backward transform.
struct Transformed {
  Transformed(MPI_Comm comm, FftShape shape, const FftTuning& tuning, bool and_back = false)
      : forward(comm, shape, -1, tuning),
        back(comm, shape.swapped(), 1, tuning),
        data(static_cast<std::size_t>(forward.data_elements())),
        work(static_cast<std::size_t>(std::max(forward.work_elements(), back.work_elements()))) {
    forward.prepare(data.data(), work.data(), &fftw(), Planning::estimated);
    back.prepare(data.data(), work.data(), &fftw(), Planning::estimated);
    for (std::int64_t j = 0; j < forward.before().size; ++j)
      data[j] = fft_input(signal_seed, forward.before().begin + j);
    forward();
    if (and_back) back();
  }
  DistributedFft forward, back;
  std::vector<Complex> data, work;
};

// Element k by the definition: one sine and one cosine per term.
Complex element(std::int64_t k, std::int64_t n) {
  Complex sum = 0;
  for (std::int64_t j = 0; j < n; ++j)
    sum += fft_input(signal_seed, j) *
           std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(j * k % n) / static_cast<double>(n));
  return sum;
}

double checksum(const std::vector<Complex>& all, std::int64_t m) {
  const auto n = static_cast<std::int64_t>(all.size());
  const FftChecksum sum(n, m);
  return sum.residual(MPI_COMM_SELF, sum.of_output(all.data(), 0, n), sum.of_input(signal_seed, 0, n));
}

std::vector<Complex> transformed_alone(FftShape shape) {
  const Transformed t(MPI_COMM_SELF, shape, {});
  return {t.data.begin(), t.data.begin() + shape.n()};
}

}  // namespace

RANKED_TEST(roots_of_unity_are_right_to_the_last_digit, 1) {
  for (const std::int64_t n : {1, 2, 3, 8, 12, 360, 1000003}) {
    const Roots roots(n);
    for (std::int64_t e = 0; e < n; e += 1 + n / 500) {
      const long double angle =
          2 * std::numbers::pi_v<long double> * static_cast<long double>(e) / static_cast<long double>(n);
      const Complex exact{static_cast<double>(std::cos(angle)), static_cast<double>(std::sin(angle))};
      EXPECT(std::abs(root_of_unity(e, n) - exact) < 1.6e-16);
      EXPECT(std::abs(roots(e) - exact) < 5e-16);
    }
  }
}

// Covers odd lengths, shares of different size, more and fewer slabs than ranks, messages of several blocks, and
// stepwise exchange.
RANKED_TEST(transforms_are_those_of_the_definition, 1, 2, 4) {
  const FftTuning tunings[] = {
      {}, {2, 1, 0}, {2, 2, 1, false, Reuse::soon}, {3, 4, 3}, {1, 1, 5, true, Reuse::soon}, {4, 100, 0, true}};
  const FftShape shapes[] = {{4, 4}, {5, 7}, {16, 12}, {9, 25}, {31, 6}};
  for (int size = 1; size <= world.size; ++size) {
    const Some some(world, size);
    if (!some.within) continue;
    for (const FftShape shape : shapes)
      for (const FftTuning& tuning : tunings) {
        const Transformed t(some.comm, shape, tuning);
        const FftShare mine = t.forward.after();
        for (std::int64_t k = 0; k < mine.size; ++k)
          EXPECT(std::abs(t.data[k] - element(mine.begin + k, shape.n())) < 1e-12);
      }
  }
}

RANKED_TEST(the_way_back_ends_at_the_input, 1, 2, 4) {
  for (const FftShape shape : {FftShape{7, 13}, FftShape{64, 32}, FftShape{50, 81}})
    for (const FftTuning& tuning : {FftTuning{}, FftTuning{2, 3, 1}, FftTuning{8, 100, 0, true}}) {
      const Transformed t(world.comm, shape, tuning, true);
      const FftShare mine = t.forward.before();
      const double residual = fft_residual(signal_seed, t.data.data(), mine.begin, mine.size, shape.n());
      EXPECT(residual < 2);
      std::vector<Complex> wrong = t.data;
      // Errors count in units of the eps of HPL and LAPACK, 2^-53, times ln n.
      if (mine.begin == 0) wrong[0] += static_cast<double>(shape.n());
      const double off = fft_residual(signal_seed, wrong.data(), mine.begin, mine.size, shape.n());
      if (mine.begin == 0) EXPECT(std::abs(off * std::log(static_cast<double>(shape.n())) * 0x1p-53 - 1) < 1e-6);
      wrong = t.data;
      wrong[mine.size / 2] *= 1 + 1e-9;
      EXPECT(fft_residual(signal_seed, wrong.data(), mine.begin, mine.size, shape.n()) > fft_threshold);
      wrong[mine.size / 2] = NAN;
      EXPECT(fft_residual(signal_seed, wrong.data(), mine.begin, mine.size, shape.n()) > fft_threshold);
    }
}

RANKED_TEST(the_checksum_holds_for_every_length_and_point, 1) {
  for (const FftShape shape :
       {FftShape{2, 2}, FftShape{3, 5}, FftShape{40, 45}, FftShape{64, 64}, FftShape{250, 243}}) {
    const std::vector<Complex> all = transformed_alone(shape);
    for (std::int64_t m = 0; m < shape.n(); m += 1 + shape.n() / 7) EXPECT(checksum(all, m) < 4);
  }
}

RANKED_TEST(one_wrong_element_of_any_is_noticed, 1) {
  const FftShape shape{40, 45};
  const std::vector<Complex> right = transformed_alone(shape);
  for (std::int64_t k = 0; k < shape.n(); k += 7) {
    std::vector<Complex> wrong = right;
    wrong[k] = -wrong[k];
    EXPECT(checksum(wrong, 11) > fft_threshold);
    wrong[k] = right[k] * (1 + 1e-8);
    EXPECT(checksum(wrong, 11) > fft_threshold);
    wrong = right;
    std::swap(wrong[k], wrong[(k + 1) % shape.n()]);
    EXPECT(checksum(wrong, 11) > fft_threshold);
  }
}

// An error that the backward transform cancels, such as a wrong factor and its conjugate, is detected by the checksum
// only.
RANKED_TEST(a_transform_that_is_wrong_and_can_be_undone_is_noticed, 1) {
  std::vector<Complex> wrong = transformed_alone({40, 45});
  for (std::size_t k = 0; k < wrong.size(); ++k) wrong[k] *= std::polar(1.0, 1e-8 * static_cast<double>(k));
  EXPECT(checksum(wrong, 11) > fft_threshold);
}

RANKED_TEST(lengths_are_shared_evenly_where_they_can_be, 1) {
  const auto any = [](FftShape) { return true; };
  for (const int ranks : {1, 2, 3, 5, 8, 12, 64, 67, 256})
    for (const std::int64_t most : {std::int64_t{200'000}, std::int64_t{5'000'000}, std::int64_t{300'000'000}}) {
      const FftShape shape = longest_shape(most, ranks, any);
      EXPECT(shape.n() <= most);
      EXPECT(static_cast<double>(shape.n()) > 0.95 * static_cast<double>(most));
      if (most > 10'000'000) EXPECT(shape.n1 % ranks + shape.n2 % ranks == 0);
      EXPECT((shape_of_length(shape.n(), ranks).n() == shape.n()) == true);
    }
  EXPECT(longest_shape(3, 1, any).n() == 0);
  EXPECT(longest_shape(100, 11, any).n() == 0);
  EXPECT(shape_of_length(4096, 2).n1 == 64);
  EXPECT(shape_of_length(36 * 35, 6).n1 == 30);  // 30 x 42, because 35 is not a multiple of 6
  EXPECT(shape_of_length(5 * 7, 3).n1 == 5);
  EXPECT(shape_of_length(2 * 1009, 4).n1 == 0);
}

namespace {

Result study(const World& world, const std::map<std::string, std::string, std::less<>>& words) {
  Session session(world.comm);
  return run_case({"case", "fft", words}, session);
}

}  // namespace

RANKED_TEST(fft_is_checked_in_each_scope, 1, 2, 4) {
  for (const char* scope : {"single", "star", "global"}) {
    const Result result = study(world, {{"scope", scope}, {"memory", "100000"}});
    EXPECT(result.check == "passed");
    if (world.rank != 0) continue;
    EXPECT(result.outcome == "ok");
    EXPECT(result.summary(*result.metric("residual")).p50.value_or(99) < 2);
    EXPECT(result.summary(*result.metric("rate")).p50.value_or(0) > 0);
  }
}

RANKED_TEST(what_cannot_be_transformed_is_said, 2) {
  EXPECT(contains(study(world, {{"n", "2003"}}).reason.value_or(""),
                  "n=2003 is not a product of two factors of at least 2") == true);
  EXPECT(contains(study(world, {{"n", "3"}}).reason.value_or(""), "n=3: give 4 to") == true);
  EXPECT(study(world, {{"n", "2018"}}).outcome == "ok");
}
