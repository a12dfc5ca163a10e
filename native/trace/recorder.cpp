#include "trace/recorder.hpp"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <new>

#include "platform/clock.hpp"
#include "prof/location.hpp"
#include "prof/meeting.hpp"
#include "trace/clocks.hpp"
#include "trace/event.hpp"

namespace kiviat::prof {

namespace {

// Memory of the recorder, constructed by begin() and never destroyed: libraries of the program may begin MPI before
// this library is initialised, and end it after this one.
union Lasting {
  constexpr Lasting() : nothing(0) {}
  ~Lasting() {}
  char nothing;
  Recorder recorder;
};
constinit Lasting lasting;

}  // namespace

constinit Recorder& recorder = lasting.recorder;
constinit thread_local int nested_here __attribute__((tls_model("initial-exec"))) = 0;

namespace {

// In a gap between two calls shorter than this, the process was not preempted, so processor time equals wall-clock
// time. This avoids reading the processor-time clock, which is slow.
constexpr double at_once_s = 5e-6;
// A gap shorter than this after an unsuccessful test is busy waiting, not computation.
constexpr double polls_s = 2e-6;

// Not destroyed with its thread, because programs may call MPI while they exit.
constinit thread_local Thread* here __attribute__((tls_model("initial-exec"))) = nullptr;

// Returns the state of the calling thread. The mutex is held.
Thread& this_thread() {
  if (!here) {
    here = recorder.threads.emplace_back(std::make_unique<Thread>()).get();
    here->number = recorder.threads.size() - 1;
    here->fresh = here->number > 0;
    here->pthread = pthread_self();
  }
  return *here;
}

// Returns the processor time, in ns, of a gap between calls; `since_ns` is what the clock read before it.
Word computed_in(double gap_s, std::int64_t since_ns, std::int64_t (*clock_ns)()) {
  const auto most_ns = static_cast<std::int64_t>(1e9 * std::max(0.0, gap_s));
  if (gap_s < at_once_s) return static_cast<Word>(most_ns);
  const std::int64_t took_ns = clock_ns() - since_ns - static_cast<std::int64_t>(recorder.header->clock_ns);
  return static_cast<Word>(std::clamp<std::int64_t>(took_ns, 0, most_ns));
}

// Records the thread's computation since its last call. Before its first call, only what it computed since the last
// call of any thread counts: when it was started is unknown.
void note_computation(Thread& thread, double now_s) {
  const double gap_s = now_s - (thread.fresh ? recorder.free_s : thread.left_s);
  if (!thread.polling || gap_s > polls_s) thread.computed_ns += computed_in(gap_s, thread.left_ns, clock::thread_ns);
  thread.polling = false;
}

long times_blocked() {
  rusage used{};
  getrusage(RUSAGE_THREAD, &used);
  return used.ru_nvcsw;
}

// Records the computation up to the beginning of a call of the thread.
void compute_until(Thread& thread, double now_s) {
  const double gap_s = now_s - recorder.free_s;
  if (recorder.threads.size() == 1) {
    // The computation of the whole process matters only before calls of other threads.
  } else if (recorder.inside.empty() && recorder.free_ns >= 0) {
    recorder.between_ns += computed_in(gap_s, recorder.free_ns, clock::process_ns);
  } else if (recorder.inside.empty()) {
    const auto most_ns = static_cast<std::int64_t>(1e9 * std::max(0.0, gap_s));
    const Thread& first = *recorder.threads[0];
    const std::int64_t both_ns = clock::thread_ns(first.pthread) - first.left_ns + clock::thread_ns();
    recorder.between_ns = static_cast<Word>(std::clamp<std::int64_t>(both_ns, 0, most_ns));
  }
  if (recorder.at_once && recorder.threads.size() > 1)
    thread.waited = thread.waited || thread.fresh || times_blocked() != thread.blocked;
  note_computation(thread, now_s);
}

void go_on(Thread& thread) {
  if (recorder.at_once) thread.blocked = times_blocked();
  if (recorder.threads.size() > 1 && recorder.inside.empty()) recorder.free_ns = clock::process_ns();
  thread.left_ns = clock::thread_ns();
  thread.left_s = recorder.free_s = clock::now();
  thread.fresh = false;
}

std::string description() {
  std::string words = "{\"format\":\"";
  words.append(trace::format).append("\",\"fields\":[");
#define KIVIAT_FIELD(name) words.append("\"" #name "\",");
  KIVIAT_TRACE_FIELDS(KIVIAT_FIELD)
#undef KIVIAT_FIELD
  words.back() = ']';
  words += ",\"texts\":{";
#define KIVIAT_TEXT(name, bytes) \
  words += "\"" #name "\":[" + std::to_string(offsetof(trace::Header, name)) + "," + std::to_string(bytes) + "],";
  KIVIAT_TRACE_TEXTS(KIVIAT_TEXT)
#undef KIVIAT_TEXT
  words.back() = '}';
  words += ",\"counted_at\":" + std::to_string(offsetof(trace::Header, counted));
  words += ",\"stream_at\":" + std::to_string(trace::stream_at) + ",\"operations\":[";
#define KIVIAT_OPERATION(name) words.append("\"" #name "\",");
  KIVIAT_OPERATIONS(KIVIAT_OPERATION)
#undef KIVIAT_OPERATION
  words.back() = ']';
  words += ",\"calls\":[";
  for (const char* name : names) words += std::string("\"") + name + "\",";
  words.back() = ']';
  return words + "}\n";
}

template <std::size_t N>
void text(char (&to)[N], const std::string& from) {
  std::snprintf(to, N, "%s", from.c_str());
}

// Registers the predefined communicators.
void know_the_world() {
  recorder.no_comm = no_comm();
  recorder.add_comm(world(), recorder.ranks, recorder.rank);
  recorder.add_comm(self(), 1, 0);
}

void in_child() { recorder.recording = false; }

// Cost of reading the processor-time clock, in ns: the minimum of many readings, which is the undisturbed one.
std::int64_t cost_of_clock() {
  std::int64_t least = INT64_MAX;
  for (int time = 0; time < 64; ++time) {
    const std::int64_t before = clock::thread_ns();
    least = std::min(least, clock::thread_ns() - before);
  }
  return std::max<std::int64_t>(0, least);
}

}  // namespace

Word Numbers::take() {
  while (lowest_ < taken_.size() && taken_[lowest_]) ++lowest_;
  if (lowest_ == taken_.size()) taken_.push_back(false);
  taken_[lowest_] = true;
  return lowest_++;
}

void Numbers::give_back(Word number) {
  taken_[number] = false;
  lowest_ = std::min<std::size_t>(lowest_, number);
}

void Recorder::begin_event(Operation operation) {
  split_others();
  // A replay duplicates communicators by a blocking call, which is the same only if nothing follows before its wait.
  if (duplicating > 0 && !stamps) unsupported(Call::Comm_idup);
  header->computed_ns += thread->computed_ns;
  if (thread->number != last_thread) {
    // Threads that take turns at calls may wait without blocking, as those of OpenMP do. One that never blocked while
    // calls at once are possible is assumed to have computed beside them.
    write(at_once && !thread->waited ? 0 : between_ns, Operation::thread);
    stream.number(thread->number), stream.number(thread->computed_ns);
    last_thread = thread->number;
    thread->computed_ns = 0;
  }
  write(thread->computed_ns, operation);
  thread->computed_ns = between_ns = 0;
  thread->waited = false;
  event = operation, written = true;
  ++header->counted[static_cast<int>(operation)].calls;
}

void Recorder::write(Word computed_ns, Operation operation) {
  stream.number(computed_ns);
  stream.number(static_cast<Word>(operation));
  ++header->events;
}

void Recorder::stamp(Call call, double entered_s, double left_s) {
  const auto since_begun_ns = [&](double time_s) { return static_cast<std::int64_t>(1e9 * (time_s - begun_s)); };
  const std::int64_t entered_ns = since_begun_ns(entered_s), left_ns = since_begun_ns(left_s);
  stream.number(0), stream.number(static_cast<Word>(Operation::stamp)), stream.number(static_cast<Word>(call));
  stream.number(static_cast<Word>(entered_ns - stamped_ns)), stream.number(static_cast<Word>(left_ns - entered_ns));
  stamped_ns = left_ns;
  if (!written) ++header->events;
}

void Recorder::unsupported(Call call) {
  if (header->unsupported == 0) header->unsupported = 1 + static_cast<Word>(call);
}

void Recorder::failed(Call call) {
  if (header->failed == 0) header->failed = 1 + static_cast<Word>(call);
}

const KnownComm* Recorder::comm(MPI_Comm comm) {
  const auto found = comms.find(key_of(comm));
  if (found == comms.end()) return ++header->unseen, nullptr;
  return &found->second;
}

Word Recorder::add_comm(MPI_Comm comm) {
  int size = 0, rank = 0;
  KIVIAT_PMPI(Comm_size)(comm, &size);
  KIVIAT_PMPI(Comm_rank)(comm, &rank);
  return add_comm(comm, size, rank);
}

Word Recorder::add_comm(MPI_Comm comm, int size, int rank) {
  const Word id = comm_ids.take();
  comms[key_of(comm)] = {id, size, rank};
  return id;
}

void Recorder::remove_comm(MPI_Comm comm) {
  const auto found = comms.find(key_of(comm));
  comm_ids.give_back(found->second.id);
  if (found->second.remote > 0) comm_ids.give_back(found->second.within);
  comms.erase(found);
}

Word Recorder::add_win(MPI_Win win) { return wins[key_of(win)] = win_ids.take(); }

void Recorder::remove_win(MPI_Win win) {
  const auto found = wins.find(key_of(win));
  win_ids.give_back(found->second);
  wins.erase(found);
}

Word Recorder::add_request(std::uint64_t key, const Asked& asked) {
  const Word number = request_ids.take();
  if (number >= requests.size()) requests.resize(number + 1);
  requests[number] = {};
  requests[number].key = key, requests[number].asked = asked;
  requests_of[key].push_back(number);
  return number;
}

Word Recorder::add_active_request(std::uint64_t key) {
  const Word number = add_request(key, {});
  requests[number].active = true;
  return number;
}

void Recorder::release(Word number) {
  if (!requests[number].picked) {
    std::vector<Word>& numbers = requests_of[requests[number].key];
    const auto found = std::find(numbers.rbegin(), numbers.rend(), number);
    if (found != numbers.rend()) *found = numbers.back(), numbers.pop_back();
  }
  duplicating -= requests[number].duplicates;
  requests[number] = {};
  request_ids.give_back(number);
}

Word Recorder::request_of(std::uint64_t key) const {
  const auto found = requests_of.find(key);
  return found == requests_of.end() || found->second.empty() ? none : found->second.back();
}

Word Recorder::pick(std::uint64_t key) {
  const auto found = requests_of.find(key);
  if (found == requests_of.end()) return none;
  std::vector<Word>& numbers = found->second;
  const auto last = std::find_if(numbers.rbegin(), numbers.rend(), [&](Word each) { return requests[each].active; });
  if (last == numbers.rend()) return none;
  const Word number = *last;
  *last = numbers.back(), numbers.pop_back();
  requests[number].picked = true;
  return number;
}

void Recorder::unpick(Word number) {
  requests[number].picked = false;
  requests_of[requests[number].key].push_back(number);
}

Event::Event(Call call) : call_(call) {
  nested() = 1;
  const double now_s = clock::now();
  lock_ = std::unique_lock(recorder.mutex);
  thread_ = recorder.thread = &this_thread();
  mine_ = recorder.threaded || thread_->number == 0;  // only the first thread's calls, unless there may be more
  if (!mine_)
    ++recorder.header->other_threads;
  else if (recorder.stamps)
    entered_s_ = clock::now();
  else
    enter(now_s);
}

void Event::enter(double now_s) {
  compute_until(*thread_, now_s);
  recorder.inside.push_back(this);
}

void Event::leave_call() {
  std::erase(recorder.inside, this);
  go_on(*thread_);
}

Event::~Event() {
  if (mine_) {
    if (recorder.stamps) {
      // Tests that find nothing have no times, because a program may make millions of them.
      if (!thread_->polling) recorder.stamp(call_, entered_s_, left_s_);
      thread_->polling = false;
    }
    if (recorder.stream.full()) recorder.recording = false;
    if (recorder.written || recorder.stamps) recorder.stream.commit();
    recorder.written = false;
    if (!recorder.stamps) leave_call();
  }
  nested() = 0;
}

void begin() {
  const char* folder = std::getenv("KIVIAT_TRACE");
  const bool stamps = !folder || !*folder;
  if (stamps) folder = std::getenv("KIVIAT_WAITS");
  if (recorder.header || !folder || !*folder || std::getenv("KIVIAT_TRACE_TAKEN")) return;
  // Child processes inherit the preloaded library; they must not be recorded.
  setenv("KIVIAT_TRACE_TAKEN", "1", 1);
  new (&recorder) Recorder;
  KIVIAT_PMPI(Comm_rank)(world(), &recorder.rank);
  KIVIAT_PMPI(Comm_size)(world(), &recorder.ranks);
  meet(recorder.rank, "recorder");
  const std::string name = "/rank-" + std::to_string(recorder.rank) + "-" + std::to_string(getpid()) + ".stream";
  std::vector<char> room(static_cast<std::size_t>(recorder.ranks));
  const char mine_has = recorder.stream.open(folder + name, description());
  KIVIAT_PMPI(Allgather)(&mine_has, 1, byte(), room.data(), 1, byte(), world());
  if (std::ranges::find(room, 0) != room.end()) {
    if (recorder.rank == 0)
      std::fprintf(stderr, "kiviat: rank %d cannot write its trace to folder %s; nothing is recorded\n",
                   static_cast<int>(std::ranges::find(room, 0) - room.begin()), folder);
    return;
  }
  trace::Header& header = *recorder.stream.header();
  recorder.header = &header;
  know_the_world();
  const Location location = prof::location();
  char library[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  KIVIAT_PMPI(Get_library_version)(library, &length);
  library[std::strcspn(library, "\n,")] = 0;
  std::ranges::replace(library, '\t', ' ');
  text(header.host, location.host), text(header.library, library), text(header.program, program());
  header.rank = static_cast<Word>(recorder.rank), header.ranks = static_cast<Word>(recorder.ranks);
  header.process = static_cast<Word>(getpid()), header.node = location.node;
  header.parents = static_cast<Word>(parents());
  header.started_s = static_cast<Word>(std::time(nullptr));
  header.clock_ns = static_cast<Word>(cost_of_clock());
  header.stage = static_cast<Word>(trace::Stage::recording);
  pthread_atfork(nullptr, nullptr, in_child);
  recorder.stamps = stamps;
  int level = MPI_THREAD_SINGLE;
  KIVIAT_PMPI(Query_thread)(&level);
  recorder.threaded = !stamps && level >= MPI_THREAD_SERIALIZED;
  recorder.at_once = !stamps && level >= MPI_THREAD_MULTIPLE;
  if (stamps) note_clocks(header);
  recorder.begun_s = clock::now();
  header.elapsed_ns = static_cast<Word>(1e9 * recorder.begun_s);
  header.stamps = stamps, header.begun_ns = header.elapsed_ns;
  header.magic = trace::magic;
  recorder.recording = true;
  if (!stamps) go_on(this_thread());
}

void end() {
  // Collective, so ranks whose stream is full take part, too.
  if (recorder.stamps && recorder.header->stage == static_cast<Word>(trace::Stage::recording))
    note_clocks_again(*recorder.header);
  if (!recorder.recording) return;
  recorder.recording = false;
  trace::Header& header = *recorder.header;
  const std::lock_guard guard(recorder.mutex);
  recorder.thread = &this_thread();
  if (!recorder.threaded) recorder.thread = recorder.threads[0].get();
  if (!recorder.stamps) compute_until(*recorder.thread, clock::now());
  recorder.begin_event(Operation::end);
  recorder.stream.commit();
  header.elapsed_ns = static_cast<Word>(1e9 * clock::now()) - header.elapsed_ns;
  if (!recorder.stream.full()) header.stage = static_cast<Word>(trace::Stage::ended);
}

void control(int level) {
  if (!recorder.recording || !recorder.stamps) return;
  const std::lock_guard guard(recorder.mutex);
  recorder.thread = &this_thread();
  if (recorder.thread->number > 0) return;
  recorder.begin_event(Operation::control);
  recorder.stream.number(level != 0);
  recorder.stream.commit();
  recorder.written = false;
}

}  // namespace kiviat::prof

// Marks this library. The profiler, if preloaded before it, looks up this symbol and then forwards its calls to the
// recorder.
extern "C" __attribute__((visibility("default"))) void kiviat_recorder() {}
