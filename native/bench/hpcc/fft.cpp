// FFT: one-dimensional discrete Fourier transform, one per rank or one over all ranks.
#include <cstring>

#include "bench/agreed_fftw.hpp"
#include "bench/hpcc/fft_check.hpp"
#include "bench/hpcc/fft_shape.hpp"
#include "bench/hpcc/scope.hpp"
#include "bench/memory.hpp"
#include "platform/clock.hpp"
#include "platform/node.hpp"

using namespace kiviat;

namespace {

class Study {
 public:
  explicit Study(Trial& t)
      : t_(t),
        scope_(scope_of(t)),
        idle_(!computes(t, scope_)),
        comm_(scope_ == Scope::global ? t.comm() : MPI_COMM_SELF),
        ranks_(scope_ == Scope::global ? t.ranks() : 1),
        shape_(chosen_shape()),
        tuning_(tuning_of(shape_, ranks_, t.session().cache_bytes, t.deterministic())),
        forward_(comm_, shape_, -1, tuning_),
        back_(comm_, shape_.swapped(), 1, tuning_) {}

  void operator()() {
    const Fftw* fftw = agreed_fftw(t_);
    const std::int64_t data = forward_.data_elements(),
                       work = std::max(forward_.work_elements(), back_.work_elements());
    const HugePages pages = pages_of(t_, idle_ ? 0 : static_cast<std::size_t>(data + work) * sizeof(Complex));
    data_ = pages.as<Complex>();
    std::string wrong;
    if (!idle_) try {
        forward_.prepare(data_, data_ + data, fftw, Planning::measured);
        back_.prepare(data_, data_ + data, fftw, Planning::estimated);
      } catch (const Skip& why) {
        wrong = why.what();
      }
    if (fftw) {
      t_.together(idle_);  // asleep, while the others plan
      if (const std::string reason = first_said(t_.members().comm(), wrong); !reason.empty()) throw Skip(reason);
    }
    t_.number("n", shape_.n());
    t_.note("n", std::to_string(shape_.n()) + " = " + std::to_string(shape_.n1) + " x " + std::to_string(shape_.n2) +
                     ", " + std::to_string(tuning_.columns * tuning_.blocks) + " columns at once");
    if (fftw)
      t_.note("fft",
              fftw->name() + "; plans measured, at most " + std::to_string(fft_planning_s) + " s each, not timed");

    const double start_s = clock::now();
    for (int repetition = 0; repetition < most_repetitions; ++repetition) {
      transform(repetition);
      const bool enough = t_.deterministic() || t_.worst(clock::now() - start_s) > enough_s;
      if (enough) break;
    }
  }

 private:
  static constexpr int most_repetitions = 5;
  static constexpr double enough_s = 2;  // repetitions end after this time

  FftShape chosen_shape() const {
    const std::int64_t n = integer_or(t_, "n", 0);
    const std::int64_t bytes = memory_of(t_);
    if (n > 0) {
      const FftShape shape = shape_of_length(n, ranks_);
      if (shape.n1 == 0)
        throw UsageError(
            "n=" + std::to_string(n) + " is not a product of two factors of at least " + std::to_string(ranks_) +
            ", the number of ranks: give one that is, such as " +
            std::to_string(longest_shape(std::max<std::int64_t>(n, 4 * ranks_ * ranks_), ranks_, [](FftShape) {
                             return true;
                           }).n()));
      refuse_more_than_available(t_, "n=" + std::to_string(n), idle_ ? 0 : static_cast<double>(bytes_of(shape)));
      return shape;
    }
    const FftShape shape =
        longest_shape(bytes / 32 * ranks_, ranks_, [&](FftShape candidate) { return bytes_of(candidate) <= bytes; });
    if (shape.n1 == 0)
      throw UsageError("memory=" + t_.text("memory") + " is too little for a transform over " + std::to_string(ranks_) +
                       " ranks: give more");
    return shape;
  }

  std::int64_t bytes_of(FftShape shape) const {
    const FftTuning tuning = tuning_of(shape, ranks_, t_.session().cache_bytes, t_.deterministic());
    const DistributedFft forward(comm_, shape, -1, tuning), back(comm_, shape.swapped(), 1, tuning);
    return 16 * (forward.data_elements() + std::max(forward.work_elements(), back.work_elements()) +
                 forward.table_elements() + back.table_elements());
  }

  void transform(int repetition) {
    const std::uint64_t seed = t_.seed() + static_cast<std::uint64_t>(repetition);
    const FftShare before = forward_.before(), after = forward_.after();
    const bool computed = host::carries_payload() && !idle_;
    if (computed)
      for (std::int64_t j = 0; j < before.size; ++j) data_[j] = fft_input(seed, before.begin + j);

    double mine_s = 0;
    const double slowest_s = t_.measured(
        "fft",
        [&] {
          if (idle_) return;
          const double start_s = clock::now();
          forward_();
          mine_s = clock::now() - start_s;
        },
        idle_);
    const double n = static_cast<double>(shape_.n()), flops = 5 * n * std::log2(n);
    t_.report("rate", scope_ == Scope::global ? flops / slowest_s : mean(flops / mine_s));
    if (!host::carries_payload()) {
      t_.confirm(true, "");
      return;
    }

    double sums = 0, residual = 0;
    if (computed) {
      const auto m = static_cast<std::int64_t>(random_at(~seed, 0) % static_cast<std::uint64_t>(shape_.n()));
      const FftChecksum checksum(shape_.n(), m);
      sums = checksum.residual(comm_, checksum.of_output(data_, after.begin, after.size),
                               checksum.of_input(seed, before.begin, before.size));
      back_();
      residual = fft_residual(seed, data_, before.begin, before.size, shape_.n());
    }
    t_.confirm(
        sums < fft_threshold && residual < fft_threshold,
        sums < fft_threshold
            ? "elements transformed forward and back deviate by " + format(residual) + " ln n eps, but must be below 16"
            : "a checksum of the transform is off by " + format(sums) + " n ln n eps, but must be below 16");
    t_.report("residual", t_.worst(residual));
  }

  // Returns the mean over the ranks that compute.
  double mean(double rate) const {
    const double mine[] = {idle_ ? 0 : rate, idle_ ? 0.0 : 1.0};
    double all[2];
    MPI_Allreduce(mine, all, 2, MPI_DOUBLE, MPI_SUM, t_.comm());
    return all[0] / all[1];
  }

  static std::string format(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3g", value);
    return text;
  }

  Trial& t_;
  Scope scope_;
  bool idle_;
  MPI_Comm comm_;
  int ranks_;
  FftShape shape_;
  FftTuning tuning_;
  DistributedFft forward_, back_;
  Complex* data_ = nullptr;
};

}  // namespace

static void fft(Trial& t) {
  Study study(t);
  t.study(std::ref(study));
}

BENCHMARK(fft,
          .summary = "one-dimensional complex Fourier transform: one per rank, or one distributed over all ranks",
          .source = "HPC Challenge, FFT (Luszczek et al., 2005); six-step algorithm: Bailey, FFTs in external or hierarchical memory, 1990",
          .sampling = Sampling::study,
          .ranks = at_least(1),
          .sized = false,
          .buffers = false,
          .reports = {{"rate", "flop/s", "higher", "5 n log2 n / time of a forward transform; scope global: over all ranks, otherwise per rank"},
                      {"residual", "1", "lower", "largest deviation after a forward and a backward transform, divided by ln n eps; must be below 16", true}},
          .nominal_s = 5,
          .axes = {scope_axis(true), memory_axis(), {"n", "auto", "", "length of the transform; auto: as memory allows", {"auto", Bounds{4, std::int64_t{1} << 50}}}},
          .headlines = {{.title = "FFT", .metric = "rate", .place = 18}},
          .problem = ProblemSize{.counts = "n", .words = "n {}"});
