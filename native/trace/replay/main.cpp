// kiviat-replay STREAMS RESULT SCALE SPARSE APART: every simulated rank issues the MPI calls of STREAMS/RANK.stream and
// computes SCALE times as long as recorded. Times and message counts are written to RESULT as JSON. SPARSE and APART
// are 0 or 1, see trace::Setting.
#include <mpi.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <new>
#include <simgrid/s4u/Actor.hpp>
#include <simgrid/s4u/Engine.hpp>
#include <simgrid/s4u/Host.hpp>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "simgrid/sent.hpp"
#include "trace/replay/rank.hpp"

using namespace kiviat;
using simgrid::s4u::Host;

namespace {

// State shared by all ranks, which live in one process; one of them runs at a time.
struct Common {
  std::vector<double> elapsed_s, computed_s;
  std::vector<const Host*> hosts;
  trace::Progress progress;
  int ended = 0;
};
Common common;

void list(std::FILE* file, const char* name, const std::vector<double>& values) {
  std::fprintf(file, "\"%s\":[", name);
  for (std::size_t at = 0; at < values.size(); ++at) std::fprintf(file, "%s%.12g", at ? "," : "", values[at]);
  std::fprintf(file, "],");
}

// Collectives are counted by the messages that the simulated algorithms send.
void write(const std::string& path) {
  Sent::Total network, nodes;
  for (const Host* from : common.hosts)
    for (const auto& [to, sent] : from->get_data<Sent>()->to) {
      const bool near = std::strcmp(from->get_property("node"), to->get_property("node")) == 0;
      Sent::Total& total = near ? nodes : network;
      total.messages += sent.messages, total.bytes += sent.bytes;
      const_cast<Host*>(from)->get_data<Sent>()->counted = false;
    }
  std::FILE* const file = std::fopen(path.c_str(), "w");
  if (!file) throw std::runtime_error("cannot write the result to " + path);
  std::fputc('{', file);
  list(file, "elapsed_s", common.elapsed_s), list(file, "computed_s", common.computed_s);
  std::fprintf(file,
               "\"network_messages\":%.17g,\"network_bytes\":%.17g,\"node_messages\":%.17g,\"node_bytes\":%.17g}\n",
               network.messages, network.bytes, nodes.messages, nodes.bytes);
  std::fclose(file);
}

void replay(const std::string& streams, const std::string& result, const trace::Setting& setting) {
  int number, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &number);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const auto all = static_cast<std::size_t>(ranks), mine = static_cast<std::size_t>(number);
  common.elapsed_s.resize(all), common.computed_s.resize(all);
  Host* const host = simgrid::s4u::this_actor::get_host();
  if (Sent& sent = *host->get_data<Sent>(); !sent.counted) sent.counted = true, common.hosts.push_back(host);
  trace::Cursor stream(streams + "/" + std::to_string(number) + ".stream", number);
  trace::Rank rank(stream, setting, common.progress);
  const double before = simgrid::s4u::Engine::get_clock();
  rank.run();
  common.elapsed_s[mine] = simgrid::s4u::Engine::get_clock() - before;
  common.computed_s[mine] = rank.computed_s();
  if (++common.ended == ranks) write(result);
  rank.finish();
}

// Ends the process before the kernel's out-of-memory killer ends any process: SimGrid copies the payload of some
// messages. Only anonymous resident memory counts, since the scratch buffer is one block mapped repeatedly.
void watch_memory() {
  const double most = 0.75 * static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  std::thread([most] {
    for (std::string word;; poll(nullptr, 0, 50)) {
      std::ifstream status("/proc/self/status");
      while (status >> word && word != "RssAnon:") continue;
      double kibibytes = 0;
      if (!(status >> kibibytes) || 1024 * kibibytes < most) continue;
      std::fprintf(stderr,
                   "kiviat-replay: messages occupy %.1f GB, more than three quarters of this machine's memory\n",
                   1.024e-6 * kibibytes);
      _exit(2);
    }
  }).detach();
}

// Handles crashes: if calls of different ranks do not match, which a single rank cannot detect, SimGrid's assertions
// fail or it crashes.
void give_up(int) {
  constexpr std::string_view words =
      "kiviat-replay: the simulator crashed: MPI calls of different ranks do not match, or memory is exhausted\n";
  (void)!::write(STDERR_FILENO, words.data(), words.size());
  _exit(2);
}

void catch_signals() {
  static char room[1 << 16];  // stack of the handler, because a rank's stack may have overflowed
  const stack_t stack{.ss_sp = room, .ss_flags = 0, .ss_size = sizeof room};
  sigaltstack(&stack, nullptr);
  struct sigaction action{};
  action.sa_handler = give_up;
  action.sa_flags = SA_ONSTACK;
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) sigaction(signal, &action, nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  static const bool watched = (catch_signals(), watch_memory(), true);  // once for all ranks
  static_cast<void>(watched);
  MPI_Init(&argc, &argv);
  try {
    if (argc != 6) throw std::runtime_error("usage: kiviat-replay STREAMS RESULT SCALE SPARSE APART");
    replay(argv[1], argv[2], {std::atof(argv[3]), *argv[4] == '1', *argv[5] == '1'});
  } catch (const std::bad_alloc&) {
    std::fputs("kiviat-replay: not enough memory for message buffers\n", stderr);
    _exit(2);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "kiviat-replay: %s\n", error.what());
    _exit(2);  // ends all ranks, which would wait for this one
  }
  MPI_Finalize();
  return 0;
}
