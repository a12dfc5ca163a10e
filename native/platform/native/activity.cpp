#include "platform/activity.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <sstream>
#include <string>

#include "platform/clock.hpp"
#include "platform/native/processors.hpp"
#include "platform/native/same_kernel.hpp"

namespace kiviat::host {
namespace {

// The first line of a file; empty if it cannot be read.
std::string line_of(const std::string& path) {
  char line[1024] = {};
  if (std::FILE* file = std::fopen(path.c_str(), "r")) {
    if (!std::fgets(line, sizeof line, file)) line[0] = 0;
    std::fclose(file);
  }
  return line;
}

std::string target_of(const char* link) {
  char target[64] = {};
  return readlink(link, target, sizeof target - 1) < 0 ? "" : target;
}

double ticks_per_s() { return static_cast<double>(sysconf(_SC_CLK_TCK)); }

// Fields of /proc/PID/stat from the state on; the name before it may contain blanks and brackets.
std::vector<std::string> status_of(int process) {
  const std::string line = line_of("/proc/" + std::to_string(process) + "/stat");
  const auto end = line.rfind(')');
  std::vector<std::string> fields;
  if (end == std::string::npos) return fields;
  std::istringstream words(line.substr(end + 1));
  for (std::string word; words >> word;) fields.push_back(word);
  return fields;
}

int parent_of(int process) {
  const auto fields = status_of(process);
  return fields.size() > 1 ? std::atoi(fields[1].c_str()) : 0;
}

// Processor time of a process in seconds, without that of its children; 0 once it has ended.
double used_s(int process) {
  const auto fields = status_of(process);
  return fields.size() > 12 ? (std::atof(fields[11].c_str()) + std::atof(fields[12].c_str())) / ticks_per_s() : 0;
}

void insert(std::vector<int>& processes, int process) {
  if (process > 1 && std::ranges::find(processes, process) == processes.end()) processes.push_back(process);
}

// The process number of the kiviat that started the launch, from its marker HOST/NAMESPACE/PROCESS/…; 0 if it runs on
// another host or in another process namespace.
int process_of_kiviat() {
  const char* marker = std::getenv("KIVIAT_LAUNCH");
  if (!marker) return 0;
  std::vector<std::string> words(1);
  for (const char* c = marker; *c; ++c) {
    if (*c == '/')
      words.emplace_back();
    else
      words.back() += *c;
  }
  const std::string own = target_of("/proc/self/ns/pid");
  if (words.size() < 3 || own.find(words[1]) == std::string::npos) return 0;
  const int process = std::atoi(words[2].c_str());
  char host[HOST_NAME_MAX + 1] = {};
  gethostname(host, HOST_NAME_MAX);
  // Emulated nodes have names of their own, but they share the process namespace.
  return words[0] == host || !status_of(process).empty() ? process : 0;
}

// Processes that serve the launch: launchers and daemons above the ranks, up to kiviat, kiviat with its direct
// children, and those that KIVIAT_HELPERS lists.
std::vector<int> helpers_above(const std::vector<int>& parents) {
  std::vector<int> found;
  const int kiviat = process_of_kiviat();
  for (int process : parents)
    for (; process > 1; process = process == kiviat ? 0 : parent_of(process)) insert(found, process);
  if (kiviat) {
    insert(found, kiviat);
    const std::string owner = std::to_string(kiviat);
    std::istringstream children(line_of("/proc/" + owner + "/task/" + owner + "/children"));
    for (int child; children >> child;) insert(found, child);
  }
  if (const char* named = std::getenv("KIVIAT_HELPERS")) {
    std::istringstream processes(named);
    for (int process; processes >> process;) insert(found, process);
  }
  return found;
}

// Adds the time of `processors` from /proc/stat; NaN if it does not list all of them.
void add_times(const std::vector<int>& processors, double& busy_s, double& steal_s) {
  std::FILE* file = std::fopen("/proc/stat", "r");
  std::size_t seen = 0;
  char line[512];
  while (file && std::fgets(line, sizeof line, file)) {
    int processor;
    double user, nice, system, idle, waiting, interrupts, softirqs, steal = 0;
    if (std::sscanf(line, "cpu%d %lf %lf %lf %lf %lf %lf %lf %lf", &processor, &user, &nice, &system, &idle, &waiting,
                    &interrupts, &softirqs, &steal) < 8) {
      if (line[0] == 'c') continue;  // the line of all processors
      break;
    }
    if (!std::ranges::binary_search(processors, processor)) continue;
    ++seen;
    busy_s += (user + nice + system) / ticks_per_s();
    steal_s += steal / ticks_per_s();
  }
  if (file) std::fclose(file);
  if (seen < processors.size()) busy_s = steal_s = NAN;
}

double seconds(const timeval& time) { return static_cast<double>(time.tv_sec) + 1e-6 * time.tv_usec; }

double wait_s() {
  double ran, waited;
  return std::sscanf(line_of("/proc/thread-self/schedstat").c_str(), "%lf %lf", &ran, &waited) == 2 ? waited * 1e-9
                                                                                                    : NAN;
}

}  // namespace

bool ActivityReader::available() { return true; }

ActivityReader::ActivityReader(MPI_Comm world) {
  const SameKernel here(world);
  kernel_ = here.kernel;
  Mask mask = processors_of_this_rank(), all{};
  MPI_Allreduce(mask.data(), all.data(), mask_words, MPI_UNSIGNED_LONG, MPI_BOR, here.comm);
  struct Parent {
    std::uint64_t space;
    int process;
  } mine{std::hash<std::string>()(target_of("/proc/self/ns/pid")), static_cast<int>(getppid())};
  std::vector<Parent> theirs(here.ranks);
  MPI_Gather(&mine, sizeof mine, MPI_BYTE, theirs.data(), sizeof mine, MPI_BYTE, 0, here.comm);
  if (here.rank) return;
  for (int processor = 0; processor < most_processors; ++processor)
    if (allowed(all, processor)) processors_.push_back(processor);
  std::vector<int> parents;  // numbers of other process namespaces mean nothing here
  for (const Parent& parent : theirs)
    if (parent.space == mine.space) insert(parents, parent.process);
  helpers_ = helpers_above(parents);
}

Reading ActivityReader::read() const {
  Reading now;
  now.kernel = kernel_;
  now.at_s = clock::now();
  now.wait_s = wait_s();
  rusage resources{};
  getrusage(RUSAGE_SELF, &resources);
  now.cpu_s = seconds(resources.ru_utime) + seconds(resources.ru_stime);
  now.switches = static_cast<double>(resources.ru_nivcsw);
  if (processors_.empty()) return now;
  now.processors = static_cast<double>(processors_.size());
  add_times(processors_, now.busy_s, now.steal_s);
  for (const int process : helpers_) now.helpers_s += used_s(process);
  return now;
}

}  // namespace kiviat::host
