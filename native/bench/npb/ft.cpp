// FT solves a diffusion equation in wave numbers: one three-dimensional forward transform, then a backward transform
// and a checksum for each time step. Each transform exchanges all data, either among all ranks (slabs) or within rows
// and then columns of ranks (pencils).
#include "bench/agreed_fftw.hpp"
#include "bench/memory.hpp"
#include "bench/npb/fourier_3d.hpp"
#include "bench/npb/problem_class.hpp"

using namespace kiviat;
using namespace kiviat::npb;

namespace {

struct Size {
  std::int64_t nx, ny, nz;
  int steps;
};
constexpr PerClass<Size> sizes = {
    {{64, 64, 64, 6}, {128, 128, 32, 6}, {256, 256, 128, 6}, {512, 256, 256, 20}, {512, 512, 512, 20}}};

constexpr int most_steps = 20;
using Checksums = std::array<Complex, most_steps>;
constexpr PerClass<Checksums> published = {
    {{{{5.546087004964e2, 4.845363331978e2},
       {5.546385409189e2, 4.865304269511e2},
       {5.546148406171e2, 4.883910722336e2},
       {5.545423607415e2, 4.901273169046e2},
       {5.544255039624e2, 4.917475857993e2},
       {5.542683411902e2, 4.932597244941e2}}},
     {{{5.673612178944e2, 5.293246849175e2},
       {5.631436885271e2, 5.282149986629e2},
       {5.594024089970e2, 5.270996558037e2},
       {5.560698047020e2, 5.260027904925e2},
       {5.530898991250e2, 5.249400845633e2},
       {5.504159734538e2, 5.239212247086e2}}},
     {{{5.046735008193e2, 5.114047905510e2},
       {5.059412319734e2, 5.098809666433e2},
       {5.069376896287e2, 5.098144042213e2},
       {5.077892868474e2, 5.101336130759e2},
       {5.085233095391e2, 5.104914655194e2},
       {5.091487099959e2, 5.107917842803e2}}},
     {{{5.177643571579e2, 5.077803458597e2}, {5.154521291263e2, 5.088249431599e2}, {5.146409228649e2, 5.096208912659e2},
       {5.142378756213e2, 5.101023387619e2}, {5.139626667737e2, 5.103976610617e2}, {5.137423460082e2, 5.105948019802e2},
       {5.135547056878e2, 5.107404165783e2}, {5.133910925466e2, 5.108576573661e2}, {5.132470705390e2, 5.109577278523e2},
       {5.131197729984e2, 5.110460304483e2}, {5.130070319283e2, 5.111252433800e2}, {5.129070537032e2, 5.111968077718e2},
       {5.128182883502e2, 5.112616233064e2}, {5.127393733383e2, 5.113203605551e2}, {5.126691062020e2, 5.113735928093e2},
       {5.126064276004e2, 5.114218460548e2}, {5.125504076570e2, 5.114656139760e2}, {5.125002331720e2, 5.115053595966e2},
       {5.124551951846e2, 5.115415130407e2}, {5.124146770029e2, 5.115744692211e2}}},
     {{{5.195078707457e2, 5.149019699238e2}, {5.155422171134e2, 5.127578201997e2}, {5.144678022222e2, 5.122251847514e2},
       {5.140150594328e2, 5.121090289018e2}, {5.137550426810e2, 5.121143685824e2}, {5.135811056728e2, 5.121496764568e2},
       {5.134569343165e2, 5.121870921893e2}, {5.133651975661e2, 5.122193250322e2}, {5.132955192805e2, 5.122454735794e2},
       {5.132410471738e2, 5.122663649603e2}, {5.131971141679e2, 5.122830879827e2}, {5.131605205716e2, 5.122965869718e2},
       {5.131290734194e2, 5.123075927445e2}, {5.131012720314e2, 5.123166486553e2}, {5.130760908195e2, 5.123241541685e2},
       {5.130528295923e2, 5.123304037599e2}, {5.130310107773e2, 5.123356167976e2}, {5.130103090133e2, 5.123399592211e2},
       {5.129905029333e2, 5.123435588985e2}, {5.129714421109e2, 5.123465164008e2}}}}};

class Program {
 public:
  static PhaseNames phase_names() { return {{"initial values", "transforms"}, {"exchange", "sums"}}; }
  explicit Program(Trial& t)
      : t_(t),
        size_(of_class(t, sizes)),
        shape_(size_.nx, size_.ny, size_.nz, t.ranks()),
        fourier_(t.comm(), checked(), phases_, {transforms, exchange}) {}

  void operator()() {
    const Fftw* fftw = agreed_fftw(t_);
    const double bytes = 16.0 * static_cast<double>(fourier_.elements());
    refuse_more_than_available(t_, "class=" + t_.text("class"), bytes);
    const HugePages memory = pages_of(t_, static_cast<std::size_t>(fourier_.elements()) * sizeof(Complex));
    // Planning by measurement would take longer than the smallest class.
    const bool tried = t_.text("class") != "S";
    fourier_.prepare(memory.as<Complex>(), fftw, tried ? Planning::measured : Planning::estimated);
    const std::string plans =
        tried ? "measured, at most " + std::to_string(fft_planning_s) + " s each, not timed" : "estimated";
    if (fftw) t_.note("fft", fftw->name() + "; plans " + plans);
    find_summands();

    solve(1);  // warm-up
    phases_.reset();
    const double time_s = t_.measured("ft", [&] { solve(size_.steps); });
    MPI_Bcast(sums_.data(), 2 * most_steps, MPI_DOUBLE, 0, t_.comm());
    const double n = static_cast<double>(shape_.elements()), log = std::log(n);
    tell_rate(t_, n * (14.8157 + 7.19641 * log + (5.23518 + 7.21113 * log) * size_.steps), time_s);
    phases_.tell(t_);
    Verification verification(1e-12);
    for (std::size_t step = 0; step < static_cast<std::size_t>(size_.steps); ++step) {
      const Complex expected = of_class(t_, published)[step];
      const std::string name = "checksum " + std::to_string(step + 1);
      verification.expect(name + ", real,", expected.real(), sums_[step].real());
      verification.expect(name + ", imaginary,", expected.imag(), sums_[step].imag());
    }
    verification.tell(t_);
  }

 private:
  enum Phase { initial_values, transforms, exchange, sums };

  const FourierShape& checked() const {
    if (shape_.across == 0)
      throw Skip("class=" + t_.text("class") + " has " + std::to_string(shape_.nx) + " x " + std::to_string(shape_.ny) +
                 " x " + std::to_string(shape_.nz) + " points, too few for " + std::to_string(t_.ranks()) +
                 " ranks: give fewer ranks, or a larger class");
    return shape_;
  }

  void solve(int steps) {
    phases_(initial_values, [&] {
      // Two random numbers per element, three operations each.
      const double elements = static_cast<double>(shape_.part());
      work::run({.flops = 6 * elements, .bytes = 32 * elements}, [&] { make_initial_values(); });
    });
    fourier_.to_waves();
    for (int step = 0; step < steps; ++step) {
      fourier_.to_space(step + 1);
      add_up(sums_[static_cast<std::size_t>(step)]);
    }
  }

  void make_initial_values() const {
    const Range ys = fourier_.y(), zs = fourier_.z();
    Complex* to = fourier_.before();
    for (std::int64_t z = zs.begin; z < zs.begin + zs.size(); ++z, to += ys.size() * shape_.nx)
      random_elements(to, shape_.nx * (ys.begin + shape_.ny * z), ys.size() * shape_.nx);
  }

  // Finds this rank's elements that enter the checksum.
  void find_summands() {
    const Range ys = fourier_.y(), zs = fourier_.z();
    for (std::int64_t j = 1; j <= 1024; ++j) {
      const std::int64_t x = j % shape_.nx, y = 3 * j % shape_.ny - ys.begin, z = 5 * j % shape_.nz - zs.begin;
      if (y >= 0 && y < ys.size() && z >= 0 && z < zs.size()) summands_.push_back((z * ys.size() + y) * shape_.nx + x);
    }
  }

  // Only rank 0 gets the sum, because only rank 0 of the reference program prints it.
  void add_up(Complex& all) {
    Complex mine = 0;
    phases_(sums, [&] {
      work::run({.flops = 2.0 * static_cast<double>(summands_.size())}, [&] {
        for (const std::int64_t at : summands_) mine += fourier_.after()[at];
        mine /= static_cast<double>(shape_.elements());
      });
      MPI_Reduce(&mine, &all, 2, MPI_DOUBLE, MPI_SUM, 0, t_.comm());
    });
  }

  Trial& t_;
  Size size_;
  Phases phases_{phase_names()};
  FourierShape shape_;
  Fourier3d fourier_;
  std::vector<std::int64_t> summands_;
  Checksums sums_{};
};

}  // namespace

static void ft(Trial& t) {
  Program program(t);
  t.study(std::ref(program));
}

BENCHMARK(ft,
          .summary = "NAS FT: Fourier transforms in three dimensions; all ranks exchange all data",
          .source = "NAS Parallel Benchmarks, FT; Bailey et al., RNR-94-007, 1994, section 2.5",
          .aka = {"FT", "npb"},
          .sampling = Sampling::study,
          .ranks = powers_of_two(),
          .sized = false,
          .buffers = false,
          .reports = quantities(),
          .nominal_s = 10,
          .axes = {class_axis()},
          .section = "programs",
          .place = 4,
          .tabled = false,
          .problem = ProblemSize{.counts = "class", .words = "class {}"},
          .phases = Program::phase_names());
