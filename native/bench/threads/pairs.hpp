// Common parts of latency_mt and message_rate_mt: thread i of a rank in the first half communicates with thread i of
// its partner in the second half. Each pair of threads has a payload of its own, so that messages received by a wrong
// thread are detected.
#pragma once

#include "bench/pt2pt/partners.hpp"
#include "bench/threads/team.hpp"

namespace kiviat {

inline std::vector<Axis> thread_axes(std::vector<Axis> more = {}) {
  more.insert(more.begin(),
              {{"threads", "2", "threads", "threads of each rank that communicate at the same time", Bounds{1, 1024}},
               {"channel",
                "tag",
                "",
                "how messages of threads are distinguished: by tags within one communicator, or by a "
                "communicator for each",
                {"tag", "communicator"}}});
  return more;
}

class ThreadPairs {
 public:
  explicit ThreadPairs(Trial& t)
      : halves(t),
        count(t.count()),
        team(t.count_of("threads")),
        own_communicators_(t.text("channel") == "communicator"),
        channels_(team.size(), {t.comm(), 0}) {
    t.uses_threads(team.size());
    const std::size_t bytes = static_cast<std::size_t>(t.bytes());
    for (int thread = 0; thread < team.size(); ++thread) {
      if (own_communicators_)
        MPI_Comm_dup(t.comm(), &channels_[thread].comm);
      else
        channels_[thread].tag = thread;
      messages_.push_back({&t.buffer(bytes), &t.buffer(bytes), thread * bytes});
    }
  }
  ~ThreadPairs() {
    for (Channel& channel : channels_)
      if (own_communicators_) MPI_Comm_free(&channel.comm);
  }
  ThreadPairs(const ThreadPairs&) = delete;
  ThreadPairs& operator=(const ThreadPairs&) = delete;

  void sends(Trial& t) {
    for (const auto& [out, in, offset] : messages_) t.sends(*out, out->first().size(), offset);
  }
  void receives(Trial& t) {
    for (const auto& [out, in, offset] : messages_) t.expects(*in, {{0, in->first().size(), halves.partner, offset}});
  }

  struct Channel {
    MPI_Comm comm;
    int tag;
  };
  const Channel& channel(int thread) const { return channels_[thread]; }
  Buffer& out(int thread) { return *messages_[thread].out; }
  Buffer& in(int thread) { return *messages_[thread].in; }

  const Halves halves;
  const int count;
  Team team;
  // Minimum duration of a batch, a hundred times the microseconds that starting and joining the threads takes.
  static constexpr double least_batch_s = 2e-3;

 private:
  struct Messages {
    Buffer *out, *in;
    std::size_t offset;  // position of the thread's messages in the rank's payload
  };
  bool own_communicators_;
  std::vector<Channel> channels_;
  std::vector<Messages> messages_;
};

}  // namespace kiviat
