// One thread looks for a communicator that is not known yet, while another one learns of others and frees them.
#include <atomic>
#include <thread>

#include "prof/members.hpp"

using namespace kiviat::prof;

int main() {
  Remembered communicators;
  std::atomic<bool> ended = false, wrong = false;
  std::thread other([&] {
    while (!ended)
      if (communicators.find(1)) wrong = true;
  });
  for (int round = 0; round < 10000; ++round) {
    auto* const members = new Members;
    members->key = 2;
    communicators.add(members);
    if (communicators.find(2) != members) wrong = true;
    std::this_thread::yield();  // lets the other one see it
    communicators.forget(members, true);
  }
  ended = true;
  other.join();
  return wrong;
}
