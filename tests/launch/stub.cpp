// Replaces kiviat-bench in tests: follows the event protocol with a real MPI, and misbehaves as requested by a case's
// `act`. The last rank misbehaves while the others wait for it in an MPI call.
#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

namespace {

std::FILE* out = nullptr;
int rank = 0, world = 1;

void emit(const std::string& line) {
  if (rank != 0) return;
  std::fputs((line + "\n").c_str(), out);
  if (std::fflush(out) != 0) {
    std::fprintf(stderr, "error: cannot write events: No space left on device\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

std::string value(const std::string& line, const std::string& key) {
  const auto start = line.find(" " + key + "=");
  if (start == std::string::npos) return "";
  const auto first = start + key.size() + 2;
  return line.substr(first, line.find(' ', first) - first);
}

void meet() {
  int one = 1;
  MPI_Allreduce(MPI_IN_PLACE, &one, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

void misbehave(const std::string& act) {
  if (act == "torn" && rank == 0) emit("{\"event\":\"result\",\"case\"");
  if (act == "cut" && rank == 0) {
    std::fputs("{\"event\":\"result\",\"case\":\"", out);
    std::fflush(out);
    raise(SIGKILL);
  }
  if (act == "no_room") {
    if (rank == 0) std::fprintf(stderr, "stub: cannot write its results: Read-only file system\n");
    MPI_Finalize();
    std::exit(74);
  }
  if (rank != world - 1) return;
  if (act == "kill") raise(SIGKILL);
  if (act == "abort") {
    std::fprintf(stderr, "error: buffer overflow in rank %d\n", rank);
    abort();
  }
  if (act == "mpi_abort") MPI_Abort(MPI_COMM_WORLD, 3);
  if (act == "exit") _exit(0);
  if (act == "kill_launcher") kill(std::atoi(std::getenv("STUB_LAUNCHER")), SIGKILL);
  if (act == "stubborn") signal(SIGTERM, SIG_IGN);
  if (act == "hang" || act == "stubborn" || act == "kill_launcher") sleep(60);
  if (act == "slow") usleep(300'000);
}

std::string library() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  std::string first(text, std::strcspn(text, "\n\t"));
  return std::strncmp(text, "MPICH", 5) == 0 ? "MPICH Version: stub" : first;
}

}  // namespace

int main(int argc, char** argv) {
  std::string cases, events;
  for (int i = 1; i + 1 < argc; i += 2) (std::string(argv[i]) == "--cases" ? cases : events) = argv[i + 1];
  if (std::getenv("STUB_DIES_EARLY")) {
    std::fprintf(stderr, "error: no licence\n");
    return 7;
  }
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world);
  if (rank == 0) out = std::fopen(events.c_str(), "w");
  if (!std::getenv("STUB_SAYS_NOTHING_OF_ITSELF"))
    emit(R"({"event":"launch","library":")" + library() + R"(","mpi":"stub","mpi_version":"1","world":)" +
         std::to_string(world) + R"(,"compiler":"none","flags":"","clock":"none","clock_cost_s":1e-8,)" +
         R"("ranks":[{"rank":0,"host":"stub","pid":1,"cpus":"0"}],"oversubscribed":false})");
  std::ifstream file(cases);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string id, benchmark;
    words >> id >> benchmark;
    emit(R"({"event":"start","case":")" + id + "\"}");
    meet();
    const auto act = value(line, "act");
    misbehave(act);
    meet();
    if (act == "forgotten") continue;
    const std::string metrics = act == "incomplete" ? "" : R"(,"metrics":[{"name":"time","unit":"s",
      "better":"lower","per_call":false,"count":2,"mean":1.5,"min":1.0,"max":2.0,"p50":1.5,"p90":null,"p99":null,
      "ci_low":1.0,"ci_high":2.0,"from":null,"samples":[1.0,2.0]}])";
    std::string result = R"({"event":"result","case":")" + id + R"(","benchmark":")" + benchmark + R"(","ranks":)" +
                         value(line, "ranks") +
                         R"(,"bytes":null,"axes":{},"mode":"fixed","sync":"barrier","outcome":"ok","phase":null,)"
                         R"("reason":null,"check":"passed","check_reason":null,"stopped_by":"fixed","batch":1,)"
                         R"("missed_windows":null,"clock_cost_s":1e-8,"elapsed_s":0.0,"oversubscribed":false)" +
                         metrics + R"(,"tables":[],"notes":{}})";
    if (act == "absurd") result.replace(result.find("1.5,"), 3, "1e300");
    result.erase(std::remove(result.begin(), result.end(), '\n'), result.end());
    emit(result + std::string(std::atoi(value(line, "padding").c_str()), ' '));
  }
  emit(R"({"event":"end"})");
  MPI_Finalize();
  return std::getenv("STUB_FAILS_AT_THE_END") ? 3 : 0;
}
