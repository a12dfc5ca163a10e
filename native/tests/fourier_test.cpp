// FT: distribution of three-dimensional transforms over ranks, and their results compared with the definition.
#include <string>

#include "bench/npb/fourier_3d.hpp"
#include "ranked_test.hpp"

using namespace kiviat;
using namespace kiviat::npb;
using namespace kiviat::test;

namespace {

constexpr double pi = 3.14159265358979323846;

double fade(std::int64_t n, std::int64_t at, double t) {
  const double k = static_cast<double>(at < n / 2 ? at : at - n);
  return std::exp(-4 * pi * pi * 1e-6 * k * k * t);
}

// exp(-2 pi i k / n)
Complex root(std::int64_t n, std::int64_t k) {
  const double angle = -2 * pi * static_cast<double>(k % n) / static_cast<double>(n);
  return {std::cos(angle), std::sin(angle)};
}

}  // namespace

RANKED_TEST(every_rank_has_the_same_part_of_every_transform, 1) {
  const std::int64_t sizes[][3] = {{64, 64, 64},    {128, 128, 32},  {256, 256, 128},
                                   {512, 256, 256}, {512, 512, 512}, {8, 4, 2}};
  for (const auto& [nx, ny, nz] : sizes)
    for (std::int64_t ranks = 1; ranks <= 1024; ranks *= 2) {
      const FourierShape shape(nx, ny, nz, ranks);
      if (shape.across == 0) {
        EXPECT(ranks > std::min(nx, ny) * std::min(ny, nz));
        continue;
      }
      EXPECT(shape.across * shape.along == ranks);
      // The grid has slabs if and only if every rank can have a plane.
      EXPECT((shape.across == 1) == (ranks <= std::min({nx, ny, nz})));
      EXPECT(shape.x_part() * shape.across == nx);
      EXPECT(shape.y_part_across() * shape.across == ny);
      EXPECT(shape.y_part_along() * shape.along == ny);
      EXPECT(shape.z_part() * shape.along == nz);
    }
}

RANKED_TEST(random_elements_are_those_of_the_stream, 1) {
  for (const std::int64_t first : {0, 1, 1000})
    for (const std::int64_t count : {1, 7, 8, 9, 64}) {
      std::vector<Complex> elements(static_cast<std::size_t>(count + 1), -7);
      random_elements(elements.data(), first, count);
      Lcg numbers(Lcg::usual_seed(), 2 * static_cast<std::uint64_t>(first));
      int wrong = 0;
      for (std::int64_t i = 0; i < count; ++i) {
        const double real = numbers(), imaginary = numbers();
        wrong += elements[static_cast<std::size_t>(i)] != Complex(real, imaginary);
      }
      EXPECT(wrong == 0);
      EXPECT(elements.back() == Complex(-7));
    }
}

// A wave with one wave number is transformed to a single element, which decays at the rate of that number. Up to 2
// ranks use slabs, 4 use pencils.
RANKED_TEST(waves_of_every_direction_fade_as_they_should, 1, 2, 4) {
  std::string why;
  const Fftw* fftw = Fftw::find(why);
  EXPECT(fftw != nullptr);
  if (!fftw) return;
  constexpr std::int64_t nx = 16, ny = 8;
  const std::int64_t nz = world.size == 4 ? 2 : 4;
  const FourierShape shape(nx, ny, nz, world.size);
  EXPECT((shape.across > 1) == (world.size == 4));
  Phases phases(PhaseNames{{"transforms"}, {"exchange"}});
  Fourier3d fourier(world.comm, shape, phases, {0, 1});
  std::vector<Complex> memory(static_cast<std::size_t>(fourier.elements()));
  fourier.prepare(memory.data(), fftw, Planning::estimated);
  const Range ys = fourier.y(), zs = fourier.z();
  const std::int64_t waves[][3] = {{0, 0, 0}, {1, 0, 0}, {0, 3, 0}, {0, 0, 1}, {15, 4, 1}, {8, 7, nz - 1}};
  for (const auto& [kx, ky, kz] : waves)
    for (const double t : {0.0, 200.0}) {
      const auto wave = [&](std::int64_t x, std::int64_t y, std::int64_t z) {
        return std::conj(root(nx, kx * x) * root(ny, ky * y) * root(nz, kz * z));
      };
      const auto for_mine = [&](Complex* elements, auto work) {
        for (std::int64_t z = 0; z < zs.size(); ++z)
          for (std::int64_t y = 0; y < ys.size(); ++y)
            for (std::int64_t x = 0; x < nx; ++x)
              work(elements[(z * ys.size() + y) * nx + x], wave(x, ys.begin + y, zs.begin + z));
      };
      for_mine(fourier.before(), [](Complex& element, Complex there) { element = there; });
      fourier.to_waves();
      double worst = 0;
      for (int repetition = 0; repetition < 2; ++repetition) {
        fourier.to_space(t);
        const double left = static_cast<double>(shape.elements()) * fade(nx, kx, t) * fade(ny, ky, t) * fade(nz, kz, t);
        for_mine(fourier.after(),
                 [&](Complex found, Complex there) { worst = std::max(worst, std::abs(found - left * there)); });
      }
      EXPECT(worst < 1e-10);
    }
}

// Only long messages are divided into chunks in the backward transform.
RANKED_TEST(messages_that_are_cut_bring_the_same, 2) {
  std::string why;
  const Fftw* fftw = Fftw::find(why);
  EXPECT(fftw != nullptr);
  if (!fftw) return;
  const FourierShape shape(256, 64, 16, world.size);
  Phases phases(PhaseNames{{"transforms"}, {"exchange"}});
  Fourier3d fourier(world.comm, shape, phases, {0, 1});
  EXPECT(fourier.chunks() > 1);
  std::vector<Complex> memory(static_cast<std::size_t>(fourier.elements()));
  fourier.prepare(memory.data(), fftw, Planning::estimated);
  const Range zs = fourier.z();
  random_elements(fourier.before(), zs.begin * 256 * 64, zs.size() * 256 * 64);
  fourier.to_waves();
  fourier.to_space(0);
  std::vector<Complex> expected(static_cast<std::size_t>(shape.part()));
  random_elements(expected.data(), zs.begin * 256 * 64, shape.part());
  double worst = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const Complex found = fourier.after()[i] / static_cast<double>(shape.elements());
    worst = std::max(worst, std::abs(found - expected[i]));
  }
  EXPECT(worst < 1e-14);
}
