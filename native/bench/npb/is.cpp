// IS, integer sort: the rank of every key among all keys, by buckets. It has little computation: random memory access
// and an all-to-all exchange determine the time.
#include <array>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "bench/memory.hpp"
#include "bench/npb/bucket_owners.hpp"
#include "bench/npb/outcome.hpp"
#include "bench/npb/problem_class.hpp"
#include "kernels/lcg.hpp"
#include "kernels/target_clones.hpp"
#include "platform/compute.hpp"
#include "support/random.hpp"

using namespace kiviat;
using namespace kiviat::npb;

namespace {

constexpr int iterations = 10;
constexpr int log2_buckets = 10, buckets = 1 << log2_buckets;
constexpr int tests = 5;

// In iteration t the key at index[i] must have rank[i] + (t - later_up) if up[i], else rank[i] - (t - later_down).
struct Problem {
  int log2_keys, log2_greatest;
  std::array<std::int64_t, tests> index, rank;
  std::array<bool, tests> up;
  int later_up = 0, later_down = 0;

  std::int64_t expected(int test, int t) const {
    const auto i = static_cast<std::size_t>(test);
    return up[i] ? rank[i] + t - later_up : rank[i] - t + later_down;
  }
};
constexpr std::array<bool, tests> first_three = {true, true, true, false, false},
                                  first_two = {true, true, false, false, false},
                                  three_of_b = {false, true, true, false, true};
constexpr PerClass<Problem> problems = {
    {{16, 11, {48427, 17148, 23627, 62548, 4431}, {0, 18, 346, 64917, 65463}, first_three},
     {20, 16, {357773, 934767, 875723, 898999, 404505}, {1249, 11698, 1039987, 1043896, 1048018}, first_two, 2},
     {23, 19, {2112377, 662041, 5336171, 3642833, 4250760}, {104, 17523, 123928, 8288932, 8388264}, first_three, 1, 1},
     {25, 21, {41869, 812306, 5102857, 18232239, 26860214}, {33422937, 10244, 59149, 33135281, 99}, three_of_b},
     {27,
      23,
      {44172927, 72999161, 74326391, 129606274, 21736814},
      {61147, 882988, 266290, 133997595, 133525895},
      first_three}}};

using Key = std::uint32_t;
using Counts = std::array<std::int32_t, buckets>;

// Key i is the mean of random numbers 4i … 4i + 3, multiplied by the number of different keys.
void make_keys(Key* keys, std::int64_t first, std::int64_t count, int log2_greatest) {
  Lcg random(Lcg::usual_seed(), 4 * static_cast<std::uint64_t>(first));
  const double quarter = std::ldexp(0.25, log2_greatest);
  for (std::int64_t i = 0; i < count; ++i) {
    double sum = random();
    for (int more = 0; more < 3; ++more) sum += random();
    keys[i] = static_cast<Key>(quarter * sum);
  }
}

// Uses four tables, so that the increments for equal successive keys do not depend on each other.
KIVIAT_UP_TO_AVX2 void count_buckets(const Key* __restrict keys, std::int64_t count, int shift, Counts& all) {
  Counts table[4] = {};
  std::int64_t i = 0;
  for (; i + 4 <= count; i += 4)
    for (int lane = 0; lane < 4; ++lane) ++table[lane][keys[i + lane] >> shift];
  for (; i < count; ++i) ++table[0][keys[i] >> shift];
  for (std::size_t b = 0; b < buckets; ++b) all[b] = table[0][b] + table[1][b] + table[2][b] + table[3][b];
}

// Writes the keys to `to`, bucket after bucket; `next` has the start of each bucket.
KIVIAT_UP_TO_AVX2 void sort_into_buckets(const Key* __restrict keys, std::int64_t count, int shift, Counts next,
                                         Key* __restrict sorted) {
  for (std::int64_t i = 0; i < count; ++i) sorted[next[keys[i] >> shift]++] = keys[i];
}

// Counts the occurrences of each key from `first` on.
KIVIAT_UP_TO_AVX2 void count_keys(const Key* __restrict keys, std::int64_t count, Key first,
                                  std::int32_t* __restrict counts) {
  for (std::int64_t i = 0; i < count; ++i) ++counts[keys[i] - first];
}

// Counts received keys, which may be corrupted; returns the number of those out of range.
KIVIAT_UP_TO_AVX2 std::int64_t count_keys_that_came(const Key* __restrict keys, std::int64_t count, Key first,
                                                    std::span<std::int32_t> counts) {
  std::int64_t strayed = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::size_t at = Key(keys[i] - first);
    if (at < counts.size())
      ++counts[at];
    else
      ++strayed;
  }
  return strayed;
}

class Program {
 public:
  static PhaseNames phase_names() { return {{"into buckets", "ranking"}, {"totals", "exchange"}}; }
  explicit Program(Trial& t)
      : t_(t),
        problem_(of_class(t, problems)),
        all_keys_(std::int64_t{1} << problem_.log2_keys),
        different_(std::int64_t{1} << problem_.log2_greatest),
        shift_(problem_.log2_greatest - log2_buckets),
        mine_(all_keys_ / t.ranks()),
        most_(std::min(all_keys_, mine_ + 4 * all_keys_ / buckets)),
        sent_(ranks()),
        received_(ranks()),
        sent_at_(ranks()),
        received_at_(ranks()) {
    if (mine_ == 0)
      throw Skip("class " + t.text("class") + " has " + std::to_string(all_keys_) +
                 " keys, fewer than there are ranks");
    // Limits: a rank has at most one bucket more than its share, and no bucket has four times the mean number of keys.
    const std::size_t arrays[] = {elements(most_), elements(mine_), elements(t.ranks() > 1 ? most_ : 0),
                                  elements(different_)};
    const std::size_t bytes = std::accumulate(std::begin(arrays), std::end(arrays), std::size_t{0}) * sizeof(Key);
    refuse_more_than_available(t, "class=" + t.text("class"), static_cast<double>(bytes));
    memory_ = pages_of(t, bytes);
    Key* next = memory_.as<Key>();
    keys_ = std::exchange(next, next + arrays[0]), sorted_ = std::exchange(next, next + arrays[1]);
    come_ = std::exchange(next, next + arrays[2]), counts_ = reinterpret_cast<std::int32_t*>(next);
    // Keys determine message sizes, so they are generated in simulations, too.
    if (!host::carries_payload()) {
      modelled_keys_ = std::make_unique_for_overwrite<Key[]>(static_cast<std::size_t>(mine_));
      keys_ = modelled_keys_.get();
    }
    make_keys(keys_, t.rank() * mine_, mine_, problem_.log2_greatest);
  }

  void operator()() {
    rank_keys(1);
    phases_.reset();
    const double time_s = t_.measured("is", [&] {
      for (int iteration = 1; iteration <= iterations; ++iteration) rank_keys(iteration);
    });
    tell_rate(t_, static_cast<double>(iterations) * static_cast<double>(all_keys_), time_s);
    phases_.tell(t_);
    if (!host::carries_payload()) return t_.confirm(true, ""), void();
    verify_ranks();
    const std::string wrong = what_is_unsorted();
    t_.confirm(wrong.empty(), wrong);
  }

 private:
  enum Phase { into_buckets, ranking, totals, exchange };

  std::size_t ranks() const { return static_cast<std::size_t>(t_.ranks()); }
  // Rounds up to whole pages, so that arrays never share a page.
  static std::size_t elements(std::int64_t count) { return (static_cast<std::size_t>(count) + 1023) / 1024 * 1024; }

  void set(std::int64_t index, Key key) {
    if (const std::int64_t at = index - t_.rank() * mine_; 0 <= at && at < mine_) keys_[at] = key;
  }

  void rank_keys(int iteration) {
    set(iteration, static_cast<Key>(iteration));
    set(iteration + iterations, static_cast<Key>(different_ - iteration));
    find_totals();
    share_out();
    phases_(into_buckets,
            [&] { work::run(cost(mine_, 3, 12), [&] { sort_into_buckets(keys_, mine_, shift_, begins_, sorted_); }); });
    phases_(exchange, [&] { exchange_keys(); });
    phases_(ranking, [&] {
      const double range = static_cast<double>(range_), keys = static_cast<double>(own_ + come_count_);
      work::run({2 * keys + range, 4 * keys + 12 * range}, [&] { rank_own(); });
    });
    for (std::size_t i = 0; i < tests; ++i)
      if (const std::int64_t at = tested_[i] - std::int64_t{first_key_};
          0 <= at && at < range_ && host::carries_payload())
        found_[static_cast<std::size_t>(iteration - 1)][i] = before_ + (at > 0 ? counts_[at - 1] : 0);
  }

  // Sums the number of keys in each bucket over all ranks and, in the same message, broadcasts the keys whose ranks
  // will be tested.
  void find_totals() {
    std::array<std::int32_t, buckets + tests> mine = {}, all;
    phases_(into_buckets, [&] {
      work::run(cost(mine_, 2, 4), [&] { count_buckets(keys_, mine_, shift_, local_); }, work::Kernel::needed);
    });
    std::ranges::copy(local_, mine.begin());
    for (std::size_t i = 0; i < tests; ++i)
      if (const std::int64_t at = problem_.index[i] - t_.rank() * mine_; 0 <= at && at < mine_)
        mine[buckets + i] = static_cast<std::int32_t>(keys_[at]);
    phases_(totals, [&] { MPI_Allreduce(mine.data(), all.data(), buckets + tests, MPI_INT, MPI_SUM, t_.comm()); });
    std::copy_n(all.begin(), buckets, total_.begin()), std::copy_n(all.begin() + buckets, tests, tested_.begin());
  }

  void share_out() {
    const std::vector<int> owners = bucket_owners(total_, mine_, t_.ranks());
    std::ranges::fill(sent_, 0);
    std::int64_t before = 0;
    std::int32_t begin = 0;
    range_ = 0, expected_ = 0;
    for (std::size_t b = 0; b < buckets; ++b) {
      if (owners[b] == t_.rank()) {
        if (range_ == 0) first_key_ = static_cast<Key>(b << shift_), before_ = before, own_begin_ = begin;
        range_ += std::int64_t{1} << shift_, expected_ += total_[b];
      }
      begins_[b] = begin, sent_[static_cast<std::size_t>(owners[b])] += local_[b];
      before += total_[b], begin += local_[b];
    }
    own_ = std::exchange(sent_[static_cast<std::size_t>(t_.rank())], 0);
  }

  void exchange_keys() {
    come_count_ = 0;
    if (t_.ranks() == 1) return;
    MPI_Alltoall(sent_.data(), 1, MPI_INT, received_.data(), 1, MPI_INT, t_.comm());
    constexpr int size = sizeof(Key);
    // The keys that stay on this rank are not moved; they lie between the keys to send.
    int out = 0, in = 0;
    bool sane = true;
    for (std::size_t r = 0; r < ranks(); ++r) {
      if (static_cast<int>(r) == t_.rank()) out += size * static_cast<int>(own_);
      sane = sane && received_[r] >= 0 && received_[r] <= mine_ && come_count_ + received_[r] <= most_;
      sent_at_[r] = out, received_at_[r] = in;
      if (!sane) received_[r] = 0;
      come_count_ += received_[r];
      out += sent_[r] *= size, in += received_[r] *= size;
    }
    MPI_Alltoallv(sorted_, sent_.data(), sent_at_.data(), MPI_BYTE, come_, received_.data(), received_at_.data(),
                  MPI_BYTE, t_.comm());
  }

  // Computes counts_[k], the number of this rank's keys that are at most first_key_ + k.
  void rank_own() {
    const std::span counts(counts_, static_cast<std::size_t>(range_));
    std::ranges::fill(counts, 0);
    count_keys(sorted_ + own_begin_, own_, first_key_, counts_);
    strayed_ += count_keys_that_came(come_, come_count_, first_key_, counts);
    std::inclusive_scan(counts.begin(), counts.end(), counts.begin());
  }

  void verify_ranks() {
    std::array<std::array<std::int64_t, tests>, iterations> all;
    MPI_Allreduce(found_.data(), all.data(), iterations * tests, MPI_INT64_T, MPI_SUM, t_.comm());
    Verification verification(0);
    for (int iteration = 1; iteration <= iterations; ++iteration)
      for (int i = 0; i < tests; ++i)
        verification.expect(
            "the rank of key " + std::to_string(tested_[static_cast<std::size_t>(i)]) + " in iteration " +
                std::to_string(iteration),
            static_cast<double>(problem_.expected(i, iteration)),
            static_cast<double>(all[static_cast<std::size_t>(iteration - 1)][static_cast<std::size_t>(i)]));
    verification.tell(t_);
  }

  // Sorts all keys by their ranks and checks that they are ordered and complete; returns what is wrong, or an empty
  // string. Collective.
  std::string what_is_unsorted() {
    const auto digest = [](const Key* keys, std::int64_t count) {
      std::uint64_t sum = 0;
      for (std::int64_t i = 0; i < count; ++i) sum += random_at(1, keys[i]);
      return sum;
    };
    std::uint64_t digests[2] = {digest(keys_, mine_), 0}, all[2];
    const std::int64_t here = own_ + come_count_;
    std::string wrong;
    if (strayed_ > 0) wrong = std::to_string(strayed_) + " keys were received that belong to other ranks";
    if (here != expected_)
      wrong = std::to_string(here) + " keys were received, but there should be " + std::to_string(expected_);
    if (wrong.empty()) {
      for (std::int64_t i = 0; i < here; ++i) {
        const Key key = i < own_ ? sorted_[own_begin_ + i] : come_[i - own_];
        keys_[--counts_[key - first_key_]] = key;
      }
      if (!std::is_sorted(keys_, keys_ + here)) wrong = "keys sorted by their ranks are not in ascending order";
      digests[1] = digest(keys_, here);
    }
    MPI_Allreduce(digests, all, 2, MPI_UINT64_T, MPI_SUM, t_.comm());
    if (wrong.empty() && all[0] != all[1]) wrong = "the ranked keys are not the generated ones";
    return wrong;
  }

  static Cost cost(std::int64_t keys, double operations, double bytes) {
    return {operations * static_cast<double>(keys), bytes * static_cast<double>(keys)};
  }

  Trial& t_;
  Problem problem_;
  std::int64_t all_keys_, different_;
  int shift_;                 // right shift that yields the bucket of a key
  std::int64_t mine_, most_;  // number of keys generated by this rank, and maximum that it may receive
  HugePages memory_;
  std::unique_ptr<Key[]> modelled_keys_;
  Key *keys_, *sorted_, *come_;
  std::int32_t* counts_;
  Counts local_, total_, begins_;
  std::vector<int> sent_, received_, sent_at_, received_at_;
  // This rank ranks the keys in [first_key_, first_key_ + range_); before_: number of smaller keys.
  Key first_key_ = 0;
  std::int64_t range_ = 0, before_ = 0, own_ = 0, own_begin_ = 0, come_count_ = 0, expected_ = 0, strayed_ = 0;
  std::array<std::int32_t, tests> tested_{};
  std::array<std::array<std::int64_t, tests>, iterations> found_{};
  Phases phases_{phase_names()};
};

}  // namespace

static void is(Trial& t) {
  Program program(t);
  t.study(std::ref(program));
}

BENCHMARK(is,
          .summary = "NAS IS: ranking of integer keys; random access to memory, all-to-all exchange",
          .source = "NAS Parallel Benchmarks, IS; Bailey et al., RNR-94-007, 1994, section 2.6; NAS-95-020, 1995",
          .aka = {"IS", "npb"},
          .sampling = Sampling::study,
          .ranks = powers_of_two(),
          .sized = false,
          .buffers = false,
          .reports = quantities(),
          .nominal_s = 1,
          .axes = {class_axis()},
          .section = "programs",
          .place = 5,
          .tabled = false,
          .problem = ProblemSize{.counts = "class", .words = "class {}"},
          .phases = Program::phase_names());
