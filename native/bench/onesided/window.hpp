// Common parts of put, get and accumulate: operations of rank r of the first half on the memory of rank r + P/2.
#pragma once

#include <functional>

#include "bench/onesided/creation.hpp"
#include "bench/pt2pt/partners.hpp"
#include "measure/payload.hpp"

namespace kiviat {

inline std::vector<Axis> onesided_axes() {
  return {{"window", "1", "operations",
           "operations in flight, each on separate memory, completed together (osu_put_bw: 64)", window_bounds},
          {"epoch",
           "flush",
           "",
           "what completes them: a flush within one epoch of lock_all; an epoch of lock and unlock each time; "
           "a fence; post, start, complete and wait",
           {"flush", "lock", "fence", "pscw"}},
          {"memory",
           "allocate",
           "",
           "of the target: that of MPI_Win_allocate, or a buffer of ours given to MPI_Win_create",
           {"allocate", "create"}}};
}

class OneSided {
 public:
  // One operation that transfers from or to `mine` of the origin, at displacement `there` in the memory of `target`.
  using Operation = void (*)(std::byte* mine, int count, int target, MPI_Aint there, MPI_Win window);
  // Memory of this rank: a private part, and a part exposed to its partner.
  struct Memory {
    std::span<std::byte> mine, exposed;
    bool origin;
    int rank, partner;
  };
  struct Check {
    void (*fill)(const Memory& memory,
                 std::uint64_t seed);  // writes the data to send, and wrong data where data must arrive
    bool (*arrived)(const Memory& memory, std::uint64_t seed);
  };

  // Collective. Throws Skip on all ranks if any rank lacks memory.
  explicit OneSided(Trial& t)
      : trial_(t),
        halves_(t),
        operations_(t.count_of("window")),
        count_(t.count()),
        bytes_(static_cast<std::size_t>(t.bytes())),
        epoch_(epoch_of(t.text("epoch"))),
        mine_(t.buffer(operations_ * bytes_)) {
    create_window();
    MPI_Group all;
    MPI_Comm_group(t.comm(), &all);
    MPI_Group_incl(all, 1, &halves_.partner, &partner_);
    MPI_Group_free(&all);
    if (epoch_ == Epoch::flush) MPI_Win_lock_all(0, window_);
    if (epoch_ == Epoch::fence) MPI_Win_fence(MPI_MODE_NOPRECEDE, window_);
  }
  ~OneSided() {
    if (epoch_ == Epoch::flush) MPI_Win_unlock_all(window_);
    if (epoch_ == Epoch::fence) MPI_Win_fence(MPI_MODE_NOSUCCEED, window_);
    MPI_Group_free(&partner_);
    MPI_Win_free(&window_);
  }
  OneSided(const OneSided&) = delete;
  OneSided& operator=(const OneSided&) = delete;

  void sample(Operation operation, Check check) {
    if (bytes_ > 0) trial_.check_by([this, operation, check] { return arrives(operation, check); });
    trial_.batched([this, operation](std::int64_t) { all(operation); },
                   {.divisor = static_cast<double>(operations_), .messages = static_cast<double>(halves_.pairs)});
  }

 private:
  enum class Epoch { flush, lock, fence, pscw };
  static Epoch epoch_of(const std::string& name) {
    return name == "flush" ? Epoch::flush : name == "lock" ? Epoch::lock : name == "fence" ? Epoch::fence : Epoch::pscw;
  }

  // The exposed memory has the same layout as the origin's, so that a position in one is a displacement in the other,
  // even if buffers rotate.
  void create_window() {
    const bool ours = trial_.text("memory") == "create";
    Buffer* buffer = ours ? &trial_.buffer(operations_ * bytes_) : nullptr;
    const std::size_t bytes = mine_.total_bytes();
    const bool fits =
        mine_.allocated() && (ours ? buffer->allocated() : 2 * bytes <= trial_.session().memory_share_bytes);
    if (trial_.worst(!fits) > 0)
      throw Skip("a window of " + std::to_string(bytes) + " B per rank does not fit into the available memory");
    const auto size = static_cast<MPI_Aint>(bytes);
    const std::string trouble = trouble_in(trial_.comm(), [&] {
      if (!ours) return MPI_Win_allocate(size, 1, MPI_INFO_NULL, trial_.comm(), &exposed_, &window_);
      exposed_ = buffer->first().data();
      return MPI_Win_create(exposed_, size, 1, MPI_INFO_NULL, trial_.comm(), &window_);
    });
    if (trial_.worst(!trouble.empty()) > 0) throw Skip("MPI cannot create a window on these ranks: " + trouble);
  }

  // Starts and completes as many operations as may be in flight. Targets take part only in active-target epochs.
  void all(Operation operation) {
    std::byte* from = mine_.next();
    const auto start = [&] {
      for (int i = 0; i < operations_; ++i, from += bytes_)
        operation(from, count_, halves_.partner, from - mine_.first().data(), window_);
    };
    const bool origin = halves_.first;
    switch (epoch_) {
      case Epoch::flush:
        if (origin) start(), MPI_Win_flush(halves_.partner, window_);
        break;
      case Epoch::lock:
        if (origin)
          MPI_Win_lock(MPI_LOCK_SHARED, halves_.partner, 0, window_), start(), MPI_Win_unlock(halves_.partner, window_);
        break;
      case Epoch::fence:
        if (origin) start();
        MPI_Win_fence(0, window_);
        break;
      case Epoch::pscw:
        if (origin)
          MPI_Win_start(partner_, 0, window_), start(), MPI_Win_complete(window_);
        else
          MPI_Win_post(partner_, 0, window_), MPI_Win_wait(window_);
        break;
    }
  }

  // Returns whether one call transfers the right data. In passive-target epochs, barriers tell the target when the
  // timed operations of other ranks have finished, and when this one has.
  bool arrives(Operation operation, Check check) {
    trial_.together();
    mine_.rewind();
    const Memory memory{mine_.first(), {exposed_, mine_.first().size()}, halves_.first, trial_.rank(), halves_.partner};
    ++seed_;  // invalidates data left by the last check
    settled([&] { check.fill(memory, seed_); });
    trial_.together();
    all(operation);
    trial_.together();
    bool good = false;
    settled([&] { good = check.arrived(memory, seed_); });
    mine_.rewind();
    return good;
  }

  // Accesses the rank's own window memory between accesses by others, with the synchronisation of MPI 3.1,
  // section 11.7.
  template <class Look>
  void settled(Look look) {
    switch (epoch_) {
      case Epoch::flush:
        MPI_Win_sync(window_), look(), MPI_Win_sync(window_);
        break;
      case Epoch::lock:
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, trial_.rank(), 0, window_), look(), MPI_Win_unlock(trial_.rank(), window_);
        break;
      case Epoch::fence:
        MPI_Win_fence(0, window_), look(), MPI_Win_fence(0, window_);
        break;
      case Epoch::pscw:
        look();
        break;
    }
  }

  Trial& trial_;
  Halves halves_;
  int operations_, count_;
  std::size_t bytes_;
  Epoch epoch_;
  Buffer& mine_;
  std::byte* exposed_ = nullptr;
  MPI_Win window_ = MPI_WIN_NULL;
  MPI_Group partner_ = MPI_GROUP_NULL;
  std::uint64_t seed_ = trial_.seed();
};

}  // namespace kiviat
