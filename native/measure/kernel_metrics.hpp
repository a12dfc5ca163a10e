// Energy, hardware counters and messages of each kernel of a study, by kernel name; the memory pages of all.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "meters/counters.hpp"
#include "meters/energy.hpp"
#include "meters/instruments.hpp"
#include "meters/nic_counters.hpp"
#include "meters/pages.hpp"
#include "platform/message_counter.hpp"
#include "platform/rank_group.hpp"
#include "results/result.hpp"

namespace kiviat {

class KernelLog {
 public:
  // Collective. The lowest rank of each machine (real host) reads the machine's energy, unless power is `declared`.
  // `pages` is the control of that name.
  KernelLog(const RankGroup& group, Instruments& instruments, std::optional<energy::Watts> declared, std::string pages);

  // To be called around each repetition, or part of one, in this order, on all ranks: before(), count(),
  // stop_counting(), after(). before() is collective. `slowest_s`: time of the slowest rank in seconds; `idle`: this
  // rank did not compute; `next`: this was no further part of the last repetition.
  void before(std::string_view kernel);
  void count() {
    if (rank_ == 0) begun_ = messages_.now();
    if (counts_) instruments_.counter_source().enable();
  }
  void stop_counting() {
    if (counts_) instruments_.counter_source().disable();
  }
  void after(double slowest_s, bool idle, bool next);

  // Adds tables and notes to the result of rank 0. Collective.
  void finish(Result& result);

 private:
  void tell_energy(Result& result);
  void tell_counters(Result& result);
  void tell_messages(Result& result) const;
  void tell_pages(Result& result) const;

  const RankGroup& group_;
  Instruments& instruments_;
  std::optional<energy::Watts> declared_;
  std::string pages_;
  std::optional<pages::Held> held_;  // memory in use after the first repetition of a kernel, at its maximum so far
  int rank_ = 0, ranks_ = 1;
  bool leads_ = false;  // this rank reads energy for its node
  bool meets_ = false;  // some rank reads energy, so kernels start and end with a barrier
  bool counts_ = false;
  // On rank 0: the ranks that read energy (if power is declared, one rank of each node), and the names and sockets of
  // their nodes.
  std::vector<int> leaders_;
  std::vector<std::string> nodes_;
  std::vector<int> sockets_;

  std::vector<energy::Kernel> kernels_;
  std::vector<energy::Spent> spent_;        // per kernel, on ranks that read energy
  std::vector<counters::Counted> counted_;  // per kernel
  MessageCounter messages_;
  MessageCount begun_;                 // at the start of the current kernel
  std::vector<MessageCount> carried_;  // per kernel
  InterfaceLog interfaces_;
  std::size_t at_ = 0;  // index of the current kernel
};

}  // namespace kiviat
