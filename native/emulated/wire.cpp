// wire DELAY_S NODE...: links of an emulated cluster for kernels that cannot delay frames (without netem).
//
// To be started in the head's network namespace, in the cluster's folder. Creates both ends of a link for each node:
// eth0 on the node, and a port p1, p2, … on the head. Writes its process number to `wire.pid`, and forwards frames
// between the ends in the background until it is killed; frames from a node are delayed by DELAY_S seconds. On SIGUSR1
// it reads a new DELAY_S from `wire.delay`.
//
// Frames have up to 64 KiB, as the kernel passes them before segmentation, with a header that describes the
// segmentation; so a link can carry some Gbit/s.
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <string>
#include <vector>

#include "platform/clock.hpp"

namespace {

constexpr std::size_t largest_frame_bytes = 128 * 1024;
constexpr int frames_at_once = 64;

volatile std::sig_atomic_t asked_again = 0;

int checked(int result, const std::string& what) {
  if (result < 0) {
    std::fprintf(stderr, "wire: %s: %s\n", what.c_str(), std::strerror(errno));
    std::exit(1);
  }
  return result;
}

// Creates a TAP interface in the current network namespace. Frames sent through it are read from the descriptor.
int make_interface(const std::string& name) {
  const int end = checked(open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC), "/dev/net/tun");
  ifreq request{};
  request.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR;
  name.copy(request.ifr_name, IFNAMSIZ - 1);
  checked(ioctl(end, TUNSETIFF, &request), name);
  checked(ioctl(end, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6 | TUN_F_TSO_ECN), name);
  return end;
}

int network(const std::string& path) { return checked(open(path.c_str(), O_RDONLY | O_CLOEXEC), path); }

class Wire {
 public:
  explicit Wire(double delay_s) : delay_s_(delay_s) { watch(alarm_, no_end); }

  void join(int node, int port) {
    ends_.push_back({node, port, true});
    watch(node, ends_.size() - 1);
    ends_.push_back({port, node, false});
    watch(port, ends_.size() - 1);
  }

  [[noreturn]] void carry() {
    for (;;) {
      std::array<epoll_event, 64> events;
      const int count = epoll_wait(events_, events.data(), events.size(), -1);
      for (int i = 0; i < count; ++i)
        if (events[i].data.u64 != no_end) take(ends_[events[i].data.u64]);
      deliver();
      if (asked_again) {
        asked_again = 0;
        std::ifstream("wire.delay") >> delay_s_;
      }
    }
  }

 private:
  struct End {
    int from, to;
    bool of_node;
  };
  struct Frame {
    double due_s;
    int to;
    std::vector<char> bytes;
  };
  static constexpr std::uint64_t no_end = ~0ULL;

  void watch(int descriptor, std::uint64_t index) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = index;
    checked(epoll_ctl(events_, EPOLL_CTL_ADD, descriptor, &event), "epoll");
  }

  void take(const End& end) {
    for (int i = 0; i < frames_at_once; ++i) {
      const ssize_t length = read(end.from, frame_.data(), frame_.size());
      if (length <= 0) return;
      if (end.of_node)
        waiting_.push_back({kiviat::clock::now() + delay_s_, end.to, {frame_.data(), frame_.data() + length}});
      else
        send(end.to, frame_.data(), length);
    }
  }

  // All frames have the same delay, so they are due in order of arrival.
  void deliver() {
    while (!waiting_.empty() && waiting_.front().due_s <= kiviat::clock::now()) {
      const Frame& frame = waiting_.front();
      send(frame.to, frame.bytes.data(), frame.bytes.size());
      waiting_.pop_front();
    }
    itimerspec when{};
    if (!waiting_.empty()) {
      const double due_s = waiting_.front().due_s;
      when.it_value.tv_sec = static_cast<time_t>(due_s);
      when.it_value.tv_nsec = static_cast<long>((due_s - std::floor(due_s)) * 1e9);
    }
    checked(timerfd_settime(alarm_, TFD_TIMER_ABSTIME, &when, nullptr), "timerfd");
  }

  // Frames for an interface that is down are dropped, as with an unplugged cable.
  static void send(int to, const char* bytes, std::size_t length) { (void)!write(to, bytes, length); }

  double delay_s_;
  int events_ = checked(epoll_create1(EPOLL_CLOEXEC), "epoll");
  int alarm_ = checked(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC), "timerfd");
  std::vector<End> ends_;
  std::deque<Frame> waiting_;
  std::vector<char> frame_ = std::vector<char>(largest_frame_bytes);
};

// The parent exits once wire.pid is written.
void into_background() {
  if (const pid_t child = checked(fork(), "fork"); child > 0) {
    std::ofstream("wire.pid") << child << '\n';
    std::_Exit(0);
  }
  setsid();
  const int nothing = checked(open("/dev/null", O_RDWR), "/dev/null");
  for (const int standard : {0, 1, 2}) dup2(nothing, standard);
}

}  // namespace

int main(int count, char** words) {
  Wire wire(std::atof(words[1]));
  const int head = network("/proc/self/ns/net");
  for (int i = 2; i < count; ++i) {
    const int port = make_interface("p" + std::to_string(i - 1));
    const int there = network(std::string(words[i]) + ".net");
    checked(setns(there, CLONE_NEWNET), words[i]);
    wire.join(make_interface("eth0"), port);
    checked(setns(head, CLONE_NEWNET), "head");
    close(there);
  }
  std::signal(SIGUSR1, [](int) { asked_again = 1; });
  // High priority: busy ranks leave no idle core.
  const sched_param first{.sched_priority = 1};
  (void)sched_setscheduler(0, SCHED_FIFO, &first);
  into_background();
  wire.carry();
}
