// Team of threads of this rank, including the caller, that execute tasks simultaneously and sleep between tasks.
#pragma once

#include <barrier>
#include <functional>
#include <thread>
#include <vector>

namespace kiviat {

class Team {
 public:
  explicit Team(int threads) : gate_(threads) {
    for (int thread = 1; thread < threads; ++thread) others_.emplace_back([this, thread] { serve(thread); });
  }
  ~Team() {
    task_ = nullptr;
    gate_.arrive_and_wait();
    for (std::thread& other : others_) other.join();
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const { return static_cast<int>(others_.size()) + 1; }

  // Runs task(0) on the caller and task(1), task(2), … on the others; all start together. Returns when all are done.
  void operator()(std::function<void(int thread)> task) {
    task_ = std::move(task);
    gate_.arrive_and_wait();
    task_(0);
    gate_.arrive_and_wait();
  }

 private:
  void serve(int thread) {
    for (;;) {
      gate_.arrive_and_wait();
      if (!task_) return;
      task_(thread);
      gate_.arrive_and_wait();
    }
  }

  std::function<void(int)> task_;  // modified only while the other threads wait
  std::barrier<> gate_;
  std::vector<std::thread> others_;
};

}  // namespace kiviat
