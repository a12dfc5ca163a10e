// kiviat-tests [--list | NAME...]: runs the tests declared for the current number of ranks, or the named ones.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "ranked_test.hpp"
#include "support/json.hpp"

namespace {

using namespace kiviat;
using test::Test;

unsigned longest_test_s() {
  const char* given = std::getenv("KIVIAT_TEST_LIMIT_S");
  return given ? static_cast<unsigned>(std::atoi(given)) : 60;
}
const char* running = "";

// Ends all ranks, because others may wait for the failed one.
void give_up(int) {
  const char* parts[] = {"FAILED ", running, ": took too long, a rank may wait for another\n"};
  for (const char* part : parts)
    if (write(1, part, std::strlen(part)) < 0) break;
  _exit(1);
}

// Runs one test. On rank 0, returns whether it passed on all ranks.
bool passes(const Test& wanted, const test::World& world) {
  running = wanted.name;
  alarm(longest_test_s());
  test::tally() = {world.rank, 0, {}};
  try {
    wanted.run(world);
  } catch (const std::exception& error) {
    test::expect({false, error.what()}, "nothing is thrown", wanted.file, 0);
  }
  long checks = 0;
  MPI_Reduce(&test::tally().checks, &checks, 1, MPI_LONG, MPI_SUM, 0, world.comm);
  std::string failures = test::tally().failures;
  for (int rank = 1; rank < world.size; ++rank) {
    int length = static_cast<int>(test::tally().failures.size());
    if (world.rank == rank) {
      MPI_Send(&length, 1, MPI_INT, 0, 0, world.comm);
      MPI_Send(test::tally().failures.data(), length, MPI_CHAR, 0, 0, world.comm);
    } else if (world.rank == 0) {
      MPI_Recv(&length, 1, MPI_INT, rank, 0, world.comm, MPI_STATUS_IGNORE);
      std::string theirs(length, ' ');
      MPI_Recv(theirs.data(), length, MPI_CHAR, rank, 0, world.comm, MPI_STATUS_IGNORE);
      failures += theirs;
    }
  }
  alarm(0);
  if (world.rank != 0) return true;
  if (checks == 0) failures += "  " + std::string(wanted.file) + ": not a single EXPECT was reached\n";
  std::printf("%s %s (%d ranks, %ld checks)\n%s", failures.empty() ? "passed" : "FAILED", wanted.name, world.size,
              checks, failures.c_str());
  std::fflush(stdout);
  return failures.empty();
}

}  // namespace

int main(int argc, char** argv) {
  auto& tests = test::tests();
  std::ranges::sort(tests, [](const Test& a, const Test& b) { return std::strcmp(a.name, b.name) < 0; });
  if (argc == 2 && std::strcmp(argv[1], "--list") == 0) {
    std::puts(json::array(tests, [](const Test& each) {
                return json::Object()
                    .field("name", each.name)
                    .raw("ranks", json::array(each.ranks, [](int ranks) { return std::to_string(ranks); }))
                    .text();
              }).c_str());
    return 0;
  }

  MPI_Init(&argc, &argv);
  signal(SIGALRM, give_up);
  test::World world{MPI_COMM_WORLD, 0, 1};
  MPI_Comm_rank(world.comm, &world.rank);
  MPI_Comm_size(world.comm, &world.size);
  int ran = 0, failed = 0;
  for (const Test& each : tests) {
    const bool named =
        std::any_of(argv + 1, argv + argc, [&](const char* name) { return std::strcmp(name, each.name) == 0; });
    if (argc > 1 && !named) continue;
    if (std::ranges::find(each.ranks, world.size) == each.ranks.end()) {
      if (named && world.rank == 0) std::printf("%s is not for %d ranks\n", each.name, world.size);
      continue;
    }
    ++ran;
    failed += !passes(each, world);
  }
  if (world.rank == 0) std::printf("%d tests, %d failed, %d ranks\n", ran, failed, world.size);
  if (ran == 0) failed = 1;
  MPI_Bcast(&failed, 1, MPI_INT, 0, world.comm);
  MPI_Finalize();
  return failed > 0;
}
