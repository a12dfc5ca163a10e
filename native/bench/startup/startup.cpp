// Startup: time of MPI_Init, and from MPI_Session_init to a communicator. Every launch calls MPI_Init, so a session
// finds the library started; its time is what another part of a program pays for a session of its own.
#include <numeric>

#include "measure/trial.hpp"
#include "platform/clock.hpp"
#include "platform/mpi_session.hpp"
#include "support/failure.hpp"

using namespace kiviat;

namespace {

class Startup {
 public:
  explicit Startup(Trial& t) : t_(t), repetitions_(t.integer("repetitions")), in_world_(ranks_in_world(t)) {}

  void operator()() {
    t_.report("init_time", t_.worst(t_.session().mpi_init_s));
    t_.confirm(has_all_ranks(t_.comm()), "MPI_Init connected other ranks than those of the launch");
    try {
      MpiSession session;
      for (std::int64_t repetition = 0; repetition < repetitions_; ++repetition) {
        open_and_close(session);
        t_.progressed(static_cast<double>(repetition + 1) / static_cast<double>(repetitions_));
      }
    } catch (const Skip& missing) {
      t_.note("sessions", std::string("unavailable: ") + missing.what());
    }
  }

 private:
  static std::vector<int> ranks_in_world(const Trial& t) {
    MPI_Group mine, world;
    MPI_Comm_group(t.comm(), &mine);
    MPI_Comm_group(t.session().world, &world);
    std::vector<int> ranks(static_cast<std::size_t>(t.ranks())), found(ranks.size());
    std::iota(ranks.begin(), ranks.end(), 0);
    MPI_Group_translate_ranks(mine, t.ranks(), ranks.data(), world, found.data());
    MPI_Group_free(&mine);
    MPI_Group_free(&world);
    return found;
  }

  bool has_all_ranks(MPI_Comm comm) const {
    int rank, ranks;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    const std::int64_t mine = rank, others = ranks - 1;
    std::int64_t sum = 0;
    MPI_Allreduce(&mine, &sum, 1, MPI_INT64_T, MPI_SUM, comm);
    return rank == t_.rank() && ranks == t_.ranks() && sum == ranks * others / 2;
  }

  void open_and_close(MpiSession& session) {
    t_.together();
    const double begun_s = clock::now();
    session.begin();
    const double started_s = clock::now();
    MPI_Comm comm = session.communicator(in_world_);
    const double created_s = clock::now();
    MPI_Barrier(comm);
    const double used_s = clock::now();

    const bool good = has_all_ranks(comm);

    const double ending_s = clock::now();
    MPI_Comm_free(&comm);
    session.end();
    const double ended_s = clock::now();

    t_.report("session_to_communicator", t_.worst(created_s - begun_s));
    t_.report("session_init_time", t_.worst(started_s - begun_s));
    t_.report("communicator_time", t_.worst(created_s - started_s));
    t_.report("first_barrier_time", t_.worst(used_s - created_s));
    t_.report("session_finalize_time", t_.worst(ended_s - ending_s));
    t_.confirm(good, "the session's communicator has other ranks than the launch");
  }

  Trial& t_;
  std::int64_t repetitions_;
  std::vector<int> in_world_;
};

}  // namespace

static void startup(Trial& t) {
  if (t.deterministic()) throw Skip("the simulator does not model how MPI starts");
  Startup study(t);
  t.study(std::ref(study));
}

BENCHMARK(startup,
          .summary = "time of MPI_Init, and from MPI_Session_init to a communicator of all ranks",
          .source = "OSU micro-benchmarks, osu_init; MPI 4.0, chapter 11; what a session costs in a program that has "
                    "called MPI_Init is Kiviat's",
          .aka = {"osu_init"},
          .sampling = Sampling::study,
          .ranks = at_least(1),
          .sized = false,
          .buffers = false,
          .reports = {{"init_time", "s", "lower", "MPI_Init of this launch: slowest rank"},
                      {"session_to_communicator", "s", "lower", "from MPI_Session_init to a communicator: slowest rank"},
                      {"session_init_time", "s", "lower", "MPI_Session_init alone"},
                      {"communicator_time", "s", "lower", "MPI_Group_from_session_pset to MPI_Comm_create_from_group"},
                      {"first_barrier_time", "s", "lower", "the first MPI_Barrier on that communicator"},
                      {"session_finalize_time", "s", "lower", "freeing the communicator, and MPI_Session_finalize"}},
          .nominal_s = 0.1,
          .axes = {{"repetitions", "20", "", "sessions, one after the other", Bounds{1, 10'000}}},
          .section = "startup");
