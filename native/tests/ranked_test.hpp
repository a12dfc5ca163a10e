// Tests that declare the numbers of ranks they run with:
//
//     RANKED_TEST(sum_of_ranks, 1, 2, 4) {
//       int sum = 0;
//       MPI_Allreduce(&world.rank, &sum, 1, MPI_INT, MPI_SUM, world.comm);
//       EXPECT(sum == world.size * (world.size - 1) / 2);
//     }
//
// A failed EXPECT does not end the test, so that no rank leaves the others waiting.
#pragma once

#include <mpi.h>

#include <sstream>
#include <string>
#include <vector>

namespace kiviat::test {

struct World {
  MPI_Comm comm;
  int rank, size;
};

struct Test {
  const char *name, *file;
  void (*run)(const World&);
  std::vector<int> ranks;
};

inline std::vector<Test>& tests() {
  static std::vector<Test> all;
  return all;
}

struct Register {
  explicit Register(Test test) { tests().push_back(std::move(test)); }
};

// Failures and number of checks of the current test on this rank.
struct Tally {
  int rank = 0;
  long checks = 0;
  std::string failures;
};

inline Tally& tally() {
  static Tally here;
  return here;
}

template <class T>
std::string show(const T& value) {
  std::ostringstream out;
  out.precision(12);
  if constexpr (requires { out << value; })
    out << std::boolalpha << value;
  else
    out << '?';
  return out.str();
}

struct Checked {
  bool good;
  std::string values;
};

// Decompose() << a == b captures both operands, so that failures can show them.
template <class T>
struct Left {
  const T& value;
  operator Checked() const { return {static_cast<bool>(value), show(value)}; }
#define KIVIAT_COMPARE(op)                                                               \
  template <class R>                                                                     \
  Checked operator op(const R& right) const {                                            \
    return {static_cast<bool>(value op right), show(value) + " " #op " " + show(right)}; \
  }
  KIVIAT_COMPARE(==) KIVIAT_COMPARE(!=) KIVIAT_COMPARE(<) KIVIAT_COMPARE(<=) KIVIAT_COMPARE(>) KIVIAT_COMPARE(>=)
#undef KIVIAT_COMPARE
};

struct Decompose {
  template <class T>
  Left<T> operator<<(const T& value) const {
    return {value};
  }
};

inline void expect(const Checked& checked, const char* text, const char* file, int line) {
  ++tally().checks;
  if (!checked.good)
    tally().failures += std::string("  ") + file + ':' + std::to_string(line) + ": rank " +
                        std::to_string(tally().rank) + ": " + text + "  [" + checked.values + "]\n";
}

}  // namespace kiviat::test

#define EXPECT(...) ::kiviat::test::expect(::kiviat::test::Decompose() << __VA_ARGS__, #__VA_ARGS__, __FILE__, __LINE__)

#define RANKED_TEST(name, ...)                                                                            \
  static void name##_body(const ::kiviat::test::World& world);                                            \
  static const ::kiviat::test::Register name##_registered({#name, __FILE__, name##_body, {__VA_ARGS__}}); \
  static void name##_body([[maybe_unused]] const ::kiviat::test::World& world)
