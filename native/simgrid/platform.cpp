// The simulated machine as a SimGrid platform plug-in: smpirun -platform libkiviat-platform.so. KIVIAT_PLATFORM names a
// text file written by kiviat.machine.modelled.lowering. If KIVIAT_SIMULATED_TIME names a file, the simulated time in
// seconds at which the last rank ended is written to it. Lines of the platform file:
//
//     link BYTES_PER_S                              links are numbered in order of appearance
//     node NAME DIVISOR MEMORY_PER_CORE CACHE CROSS  CROSS: links between its sockets; lists are 1,2,3 or -
//     switch DIVISOR                                vertices: all nodes, then all switches
//     arc FROM TO LINK LATENCY_S                    LINK: -1 if its rate is unlimited
//     core NODE SOCKET NUMBER FLOPS_PER_S SELF NEAR_OUT NEAR_IN FAR_OUT FAR_IN       lists of links
//     segment LEVEL FROM_BYTES LATENCY_S BYTES_PER_S SEND_S SEND_S_PER_B RECEIVE_S RECEIVE_S_PER_B AFTER_S CROSSING_S
//             CROSSING_S_PER_B                      one line
//     in_flight LEVEL BYTES
//     cold CACHE_BYTES PASSES CORE_BYTES_PER_S NODE_BYTES_PER_S LEVELS
//                                                   of messages of the first LEVELS levels
//     crossing_ranks RANKS                          ranks of a node from which on its messages cross
//     bucket OUT_BYTES IN_BYTES PACKET_BYTES TRAILER_FROM_BYTES BYTES_PER_S FRAME_BYTES HEADER_BYTES
//                                                   token buckets of every node, outgoing and incoming
//     packing BLOCK_S S_PER_B                       of blocks in collectives (simgrid/smpi_overrides/packing.hpp)
//     one_connection                                a rendezvous waits for one of the opposite direction
//     mpich VERSION SHORT_ALLGATHER_BYTES           -1: MPICH's; before `cold` and `node_aware`
//                                                   (simgrid/smpi_overrides/mpich.hpp)
//     shared_memory LATENCY_S FLAG_S BYTES_PER_S LARGEST_BYTES    of collectives on a node
//                                                   (simgrid/smpi_overrides/shared_memory.hpp)
//     node_aware                                    use node-aware collectives (simgrid/smpi_overrides/node_aware.hpp)
//
// A SimGrid host is one core, so ranks of a node have both own and shared limits. Only cores with a rank and their
// links are created, because a machine may have many more than a run uses. Messages take a shortest path in arcs; of
// several the one chosen is (number of the receiving node / DIVISOR) modulo their number, which is the D-mod-k routing
// of fat trees, or the first if DIVISOR is 0 (dimension order).
//
// A message of n bytes between two cores of a level (0 socket, 1 node, 2 network) on an otherwise idle machine takes
//     send(n) + latency + arcs' latencies + n / rate + receive(n)
// with the parameters of the segment that contains n, and is no faster than its links. If a level limits the bytes in
// flight, like a processor with a limited number of outstanding loads from remote memory, 1 / rate grows by the round
// trip over the arcs divided by that number of bytes.
//
// After sending a message, a rank is busy for the segment's after_s, which delays what it does next: sending,
// receiving, computing.
//
// Messages that cross take longer: a rank that has sent a message of n bytes receives what was sent before this message
// arrived no sooner than crossing_s + n * crossing_s_per_b after its arrival on an idle machine. With two such messages
// it waits twice as long, and so on, unless the first has arrived when it sends the second. What is sent later may be
// an answer and does not wait, so neither ping-pong nor a stream in one direction changes. With crossing_ranks, only
// ranks that share their node with so many (themselves included) wait.
//
// Messages within a node that do not fit into its cache take longer: bytes beyond the rank's share of CACHE_BYTES cross
// the memory buses PASSES times, at the rank's share of NODE_BYTES_PER_S, CORE_BYTES_PER_S at most. All ranks of the
// node have equal shares, because programs of many ranks usually send at once. Where processors copy what leaves the
// node, too, LEVELS is 3. Messages from rotating buffers are in no cache at all.
//
// If nodes have token buckets (simgrid/bucket.hpp), bytes that pass both buckets without waiting load no link.
//
// With one_connection, a rank's message that opens a rendezvous, and the answer of its receiver, travel behind the data
// that their senders have already given to the connection of these two ranks. So a rendezvous waits for the end of one
// in the other direction that began before. Both flow at the same time if the ranks are in step: the last message of
// both between nodes was with each other, or neither had one since the benchmark's last common start. Ranks that share
// a core count as one.
//
// SMPI charges a rank receive(n) for eager messages only, and send(n) for eager and non-blocking ones. The rest is
// added to the latency of the message: the total is that of the file, but receive(n) of a rendezvous message does not
// occupy the receiving processor.
#include <smpi/smpi.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <iomanip>
#include <map>
#include <optional>
#include <set>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/kernel/resource/Model.hpp>
#include <simgrid/kernel/resource/NetworkModelIntf.hpp>
#include <simgrid/kernel/routing/NetPoint.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <simgrid/s4u.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>
#include <xbt/config.hpp>

#include "simgrid/bucket.hpp"
#include "simgrid/sent.hpp"
#include "simgrid/smpi_overrides/alltoall.hpp"
#include "simgrid/smpi_overrides/mpich.hpp"
#include "simgrid/smpi_overrides/node_aware.hpp"
#include "simgrid/smpi_overrides/packing.hpp"
#include "simgrid/smpi_overrides/shared_memory.hpp"
#include "simgrid/smpi_overrides/working_set.hpp"

namespace {

namespace s4u = simgrid::s4u;
namespace resource = simgrid::kernel::resource;
namespace routing = simgrid::kernel::routing;
using simgrid::kernel::resource::StandardLinkImpl;
using Links = std::vector<StandardLinkImpl*>;
using Pair = std::pair<const s4u::Host*, const s4u::Host*>;  // sender and receiver

struct Segment {
  double from_bytes, latency_s, rate, send_s, send_s_per_byte, receive_s, receive_s_per_byte, after_s, crossing_s,
      crossing_s_per_byte;
};

struct Level {
  std::vector<Segment> segments;
  double in_flight_bytes = 0;
  double best_rate = 0;

  const Segment& segment(double bytes) const {
    std::size_t i = segments.size() - 1;
    while (i > 0 && segments[i].from_bytes > bytes) --i;
    return segments[i];
  }
};

struct Node {
  std::string name, memory_bytes, cache_bytes;
  Links cross;
  int cores = 0;  // with ranks
  std::optional<kiviat::sim::Bucket> out, in;
};

struct Cold {
  double cache_bytes, passes, core_rate, node_rate;
  int levels;
};

struct Arc {
  int to;
  StandardLinkImpl* link;
  double latency_s;
};

struct Vertex {
  long divisor = 0;
  std::vector<Arc> arcs;
};

struct Core {
  int node, socket;
  Links self, near_out, near_in, far_out, far_in;
  double memory_rate = INFINITY;
};

// A message that starts. `rate`: of its flow on idle links; `wire_bytes`: with what SMPI adds.
struct Message {
  resource::Action* flow;
  const s4u::Host *from, *to;
  double bytes, wire_bytes, rate;
};

class Machine : public routing::NetZoneImpl {
 public:
  // `wanted`: names of the hosts to create; empty: all. Throws std::runtime_error if the file cannot be read or parsed.
  Machine(const std::string& path, const std::set<std::string>& wanted) : NetZoneImpl("machine") { read(path, wanted); }

  void get_local_route(const routing::NetPoint* from, const routing::NetPoint* to, routing::Route* into,
                       double* latency) override {
    const Core &source = cores_[from->id()], &target = cores_[to->id()];
    const auto add = [&](const Links& links) {
      into->link_list_.insert(into->link_list_.end(), links.begin(), links.end());
    };
    const int level = level_of(source, target);
    double arcs_s = 0;
    if (from == to) {
      add(source.self);
    } else if (level < 2) {
      add(source.near_out);
      if (level == 1) add(nodes_[source.node].cross);
      add(target.near_in);
    } else {
      add(source.far_out);
      arcs_s = walk(source.node, target.node, [&](const Arc& arc) {
        if (arc.link) into->link_list_.push_back(arc.link);
      });
      add(target.far_in);
    }
    // SimGrid limits a flow to gamma / (2 * latency) and shares links in inverse proportion to latency. This latency
    // therefore expresses the flow's maximum rate; latency_factor() then restores the actual latency.
    if (latency) *latency += bound_latency(from == to ? source.memory_rate : rate_of(levels_[level], arcs_s));
  }

  static double bound_latency(double rate) { return unit_rate / rate; }

  // Factor between the latency of get_local_route() and the actual one. SimGrid calls this exactly once per message,
  // when it starts, so messages are counted here.
  double latency_factor(double wire_bytes, const s4u::Host* from, const s4u::Host* to,
                        const std::vector<s4u::Link*>& links) {
    if (from == to) return 0;
    const Core &source = core(from), &target = core(to);
    const int number = level_of(source, target);
    const Level& level = levels_[number];
    const double arcs_s = number == 2 ? walk(source.node, target.node, [](const Arc&) {}) : 0;
    const double bytes = std::max(0.0, wire_bytes - envelope_bytes);
    if (kiviat::Sent& sent = *from->get_data<kiviat::Sent>(); sent.counted) {
      ++sent.to[to].messages, sent.to[to].bytes += bytes;
      sets_out(from, to, bytes, number == 2 ? &kiviat::Sent::network : &kiviat::Sent::node);
    }
    const Segment& segment = level.segment(bytes);
    const double rate = rate_of(level, arcs_s), flow = std::min(rate, narrowest(links));
    // The flow has the rate of the fastest segment; if the message's own segment is slower, the additional time is
    // added to the latency.
    const double slower_s = std::max(0.0, bytes * (1 / segment.rate - 1 / level.best_rate + 1 / rate - 1 / flow));
    double seconds = segment.latency_s + arcs_s + slower_s - envelope_bytes / flow;
    if (const double busy_s = cold_s(from, bytes, number); busy_s > 0) {
      double& until_s = from->get_data<kiviat::Sent>()->memory_until_s;
      until_s = std::max(until_s, s4u::Engine::get_clock()) + busy_s;
      seconds += until_s - s4u::Engine::get_clock();
    }
    double unhindered_s = seconds;  // without waits that begin now
    if (bytes >= rendezvous_bytes_) {
      seconds += receive_s(segment, bytes) + unpaid_send_s(segment, bytes, from, to);
      unhindered_s = seconds;
      const double waits_s = std::max(busy_for_s(to), crossing_for_s(to, s4u::Engine::get_clock()));
      if (waits_s > 0) seconds = std::max(seconds, waits_s + receive_s(segment, bytes) - wire_bytes / flow);
    }
    if (number == 2) {
      const Message message{&newest_flow(), from, to, bytes, wire_bytes, flow};
      const resource::Action* const before = one_connection_ ? note_on_connection(message) : nullptr;
      if (before) hold(message, before, unhindered_s, s4u::Engine::get_clock() + seconds);
      seconds = before ? 0 : pass_buckets(message, seconds);
    }
    return std::max(seconds, least_s) / bound_latency(rate);
  }

  // Called when a message has arrived or was cancelled.
  void arrives(const void* flow) {
    const auto found = under_way_.find(flow);
    if (found == under_way_.end()) return;
    for (kiviat::UnderWay* of : found->second.ends)
      if (of) of->end(s4u::Engine::get_clock());
    if (Sequence* like = found->second.like)
      std::erase_if(like->moving, [&](const auto& one) { return one.second == flow; });
    const Pair way = found->second.way;
    under_way_.erase(found);
    if (one_connection_) release(flow, way);
  }
  // SimGrid ends some flows of short messages some nanoseconds early without a callback, and the receiver continues. So
  // a received message counts as arrived.
  void received(double bytes, const s4u::Host* from, const s4u::Host* to) {
    const auto found = alike_.find({from, to, bytes});
    if (found == alike_.end() || found->second.received == found->second.begun) return;
    Sequence& like = found->second;
    ++like.received;
    while (!like.moving.empty() && like.moving.front().first < like.received) arrives(like.moving.front().second);
  }

  // Returns the time in seconds during which sending occupies the rank.
  double send_s(double bytes, const s4u::Host* from, const s4u::Host* to) {
    const Segment& segment = segment_of(bytes, from, to);
    const double seconds = send_s(segment, bytes), busy_s = busy_for_s(from);
    if (seconds > 0 && bytes >= rendezvous_bytes_) ++paid_[{from, to, bytes}];
    const double now_s = s4u::Engine::get_clock(), sent_s = now_s + busy_s + seconds;
    kiviat::Sent& sent = *from->get_data<kiviat::Sent>();
    if (segment.after_s > 0) sent.busy_until_s = sent_s + segment.after_s;
    if (const double crossing_s = segment.crossing_s + bytes * segment.crossing_s_per_byte;
        crossing_s > 0 && nodes_[core(from).node].cores >= crossing_ranks_) {
      const double way = way_s(segment, bytes, from, to) - saved_s(bytes, from, to, sent_s);
      const bool arrived = now_s > sent.arrives_s;
      const double begins_s = arrived ? sent_s : std::max(sent_s, sent.crosses_until_s + seconds);
      sent.arrives_s = sent_s + way;
      sent.crosses_until_s = begins_s + way + crossing_s;
    }
    return busy_s + seconds;
  }
  // If the sender has already ended, SMPI passes no host for it; the message then counts as one over the network.
  double receive_s(double bytes, const s4u::Host* from, const s4u::Host* to) const {
    if (!from) return busy_for_s(to) + receive_s(levels_[2].segment(bytes), bytes);
    const Segment& segment = segment_of(bytes, from, to);
    double waits_s = busy_for_s(to);
    if (const double now_s = s4u::Engine::get_clock(); to->get_data<kiviat::Sent>()->crosses_until_s > now_s) {
      const auto saved = saved_s_.find({from, to});
      const double way = way_s(segment, bytes, from, to) - (saved == saved_s_.end() ? 0 : saved->second);
      waits_s = std::max(waits_s, crossing_for_s(to, now_s - way));
    }
    return waits_s + receive_s(segment, bytes);
  }

 private:
  static constexpr double unit_rate = 1e9;      // half of the value of network/TCP-gamma
  static constexpr double envelope_bytes = 16;  // bytes that SMPI adds to every message
  static constexpr double least_bytes = 1e-2;   // a flow of 0 bytes would never end
  static constexpr double rounding_s = 1e-12;
  static constexpr double least_s = 1e-12;  // SimGrid skips the latency of a flow if it is 0

  const Core& core(const s4u::Host* host) const { return cores_[host->get_netpoint()->id()]; }
  static int level_of(const Core& a, const Core& b) { return a.node != b.node ? 2 : a.socket != b.socket ? 1 : 0; }
  const Segment& segment_of(double bytes, const s4u::Host* from, const s4u::Host* to) const {
    return levels_[level_of(core(from), core(to))].segment(bytes);
  }
  // SimGrid has no callback for the start of a flow and identifies flows by address only. While it asks for a latency
  // factor, the flow concerned is the last one created.
  resource::Action& newest_flow() const {
    return dynamic_cast<resource::Model&>(*get_iface()->get_network_model()).get_started_action_set()->back();
  }
  static double pass_at_once(Node& from, Node& to, double bytes) {
    const double now_s = s4u::Engine::get_clock();
    return std::min(from.out->let_pass(bytes, now_s), to.in->let_pass(bytes, now_s));
  }
  void sets_out(const s4u::Host* from, const s4u::Host* to, double bytes, kiviat::UnderWay kiviat::Sent::* where) {
    const auto of_end = [&](const s4u::Host* end) { return &(end->get_data<kiviat::Sent>()->*where); };
    track(from, to, bytes, {of_end(from), of_end(to)});
  }
  // Remembers the newest flow until its message arrives. `ends` count the time until then.
  void track(const s4u::Host* from, const s4u::Host* to, double bytes, const std::array<kiviat::UnderWay*, 2>& ends) {
    const void* flow = &newest_flow();
    Sequence* like = nullptr;
    if (bytes < rendezvous_bytes_) {
      like = &alike_[{from, to, bytes}];
      like->moving.emplace_back(like->begun++, flow);
    }
    under_way_[flow] = {ends, like, {from, to}};
    for (kiviat::UnderWay* of : ends)
      if (of) of->begin(s4u::Engine::get_clock());
  }
  // Lets a message's first bytes pass the buckets of its nodes, if there are any. Returns its latency: `seconds`, and
  // what these bytes add.
  double pass_buckets(const Message& message, double seconds) {
    Node &source = nodes_[core(message.from).node], &target = nodes_[core(message.to).node];
    if (!source.out) return seconds;
    const double headers = headers_of(message.bytes), rate_of_link = source.out->bytes_per_s();
    const double passed = pass_at_once(source, target, message.bytes + headers);
    saved_s_[{message.from, message.to}] = (passed - headers) / rate_of_link;
    // A flow slower than the link stays slower.
    seconds += std::min(passed, message.bytes) * (1 / message.rate - 1 / rate_of_link);
    // Bytes that passed the buckets need no flow. A negative latency shortens the flow instead.
    const double left = message.wire_bytes + headers - passed + std::min(seconds, 0.0) * message.rate;
    message.flow->set_remains(std::max(least_bytes, left));
    return seconds;
  }
  // Notes a new message between nodes, and returns the flow of the other direction whose end it must await, if any.
  const resource::Action* note_on_connection(const Message& message) {
    kiviat::Sent &sender = *message.from->get_data<kiviat::Sent>(), &receiver = *message.to->get_data<kiviat::Sent>();
    const auto in_step_with = [](const kiviat::Sent& rank, const s4u::Host* other) {
      return !rank.partner || rank.partner == other;
    };
    const bool in_step = in_step_with(sender, message.to) && in_step_with(receiver, message.from);
    sender.partner = message.to, receiver.partner = message.from;
    if (message.bytes < rendezvous_bytes_) return nullptr;
    if (!sender.counted) track(message.from, message.to, message.bytes, {});
    Way& way = ways_[{message.from, message.to}];
    if (way.flows.empty()) way.in_step = in_step;
    way.flows.push_back(message.flow);
    const auto other = ways_.find({message.to, message.from});
    return other == ways_.end() || other->second.in_step ? nullptr : other->second.flows.back();
  }
  // Makes a new flow wait for the end of another. Then it begins after a latency, but not before `earliest_s`.
  void hold(const Message& message, const resource::Action* before, double latency_s, double earliest_s) {
    message.flow->set_suspend_state(resource::Action::SuspendStates::SUSPENDED);  // suspend() needs what is yet to come
    held_.push_back({message, before, latency_s, earliest_s});
  }
  // Lets flows begin that waited for the end of `flow`.
  void release(const void* flow, const Pair& pair) {
    if (const auto way = ways_.find(pair); way != ways_.end()) {
      std::erase(way->second.flows, flow);
      if (way->second.flows.empty()) ways_.erase(way);
    }
    std::erase_if(held_, [&](const Held& held) { return held.message.flow == flow; });  // it was cancelled
    for (Held& held : held_) {
      if (held.before != flow) continue;
      held.before = nullptr;
      const double now_s = s4u::Engine::get_clock(), begins_s = std::max(now_s + held.latency_s, held.earliest_s);
      held.latency_s = std::max(least_s, pass_buckets(held.message, begins_s - now_s));
      const resource::Action* const waiting = held.message.flow;
      simgrid::kernel::timer::Timer::set(now_s + held.latency_s, [this, waiting] { begin(waiting); });
    }
  }
  void begin(const resource::Action* waiting) {
    const auto held = std::ranges::find(held_, waiting, [](const Held& one) { return one.message.flow; });
    if (held == held_.end()) return;
    resource::Action* const flow = held->message.flow;
    held_.erase(held);
    flow->resume();
  }
  // Returns for how many seconds a rank is still busy with its last message.
  static double busy_for_s(const s4u::Host* core) {
    return std::max(0.0, core->get_data<kiviat::Sent>()->busy_until_s - s4u::Engine::get_clock());
  }
  // Returns for how many seconds a rank still waits with a message that began its way at `begun_s`. An answer ends the
  // crossing.
  static double crossing_for_s(const s4u::Host* core, double begun_s) {
    kiviat::Sent& sent = *core->get_data<kiviat::Sent>();
    const double now_s = s4u::Engine::get_clock();
    if (begun_s >= sent.arrives_s - rounding_s) sent.crosses_until_s = std::min(sent.crosses_until_s, now_s);
    return std::max(0.0, sent.crosses_until_s - now_s);
  }
  // Returns how many bytes a message of short frames occupies the link in addition, in terms of its rate for full ones.
  double headers_of(double bytes) const {
    const double frames = std::max(1.0, std::ceil(bytes / frame_bytes_));
    return (bytes + frames * header_bytes_) * frame_bytes_ / (frame_bytes_ + header_bytes_) - bytes;
  }
  // Returns the seconds that a message sent at `at_s` saves because its bytes pass the buckets at once.
  double saved_s(double bytes, const s4u::Host* from, const s4u::Host* to, double at_s) const {
    const Node &source = nodes_[core(from).node], &target = nodes_[core(to).node];
    if (!source.out || &source == &target) return 0;
    const double headers = headers_of(bytes), framed = bytes + headers;
    const double passes = std::min(source.out->would_pass(framed, at_s), target.in->would_pass(framed, at_s));
    return (passes - headers) / source.out->bytes_per_s();
  }
  // Returns the seconds between the end of sending and the beginning of receiving on an idle machine without buckets.
  double way_s(const Segment& segment, double bytes, const s4u::Host* from, const s4u::Host* to) const {
    const Core &source = core(from), &target = core(to);
    const double arcs_s = source.node == target.node ? 0 : walk(source.node, target.node, [](const Arc&) {});
    return segment.latency_s + arcs_s + bytes / segment.rate;
  }
  static double send_s(const Segment& segment, double bytes) {
    return segment.send_s + bytes * segment.send_s_per_byte;
  }
  static double receive_s(const Segment& segment, double bytes) {
    return segment.receive_s + bytes * segment.receive_s_per_byte;
  }
  // Returns the send time not yet charged when a message starts: that of blocking rendezvous sends.
  double unpaid_send_s(const Segment& segment, double bytes, const s4u::Host* from, const s4u::Host* to) {
    const auto found = paid_.find({from, to, bytes});
    if (found == paid_.end()) return send_s(segment, bytes);
    if (--found->second == 0) paid_.erase(found);
    return 0;
  }

  double cold_s(const s4u::Host* from, double bytes, int level) const {
    if (!cold_ || level >= cold_->levels) return 0;
    const kiviat::Sent& sent = *from->get_data<kiviat::Sent>();
    const double ranks = nodes_[core(from).node].cores, share_bytes = sent.from_memory ? 0 : cold_->cache_bytes / ranks;
    const double set_bytes = std::max(bytes, sent.working_set_bytes);
    if (set_bytes <= share_bytes) return 0;
    const double rate = std::min(cold_->core_rate, cold_->node_rate / ranks);
    return bytes * (1 - share_bytes / set_bytes) * cold_->passes / rate;
  }

  // Returns the rate of a flow on idle links; it may cross a link several times.
  static double narrowest(const std::vector<s4u::Link*>& links) {
    double rate = INFINITY;
    for (const s4u::Link* link : links)
      rate = std::min(rate, link->get_bandwidth() / static_cast<double>(std::ranges::count(links, link)));
    return rate;
  }
  static double rate_of(const Level& level, double arcs_s) {
    return level.in_flight_bytes > 0 ? 1 / (1 / level.best_rate + 2 * arcs_s / level.in_flight_bytes) : level.best_rate;
  }

  // Visits the arcs of the route and returns the sum of their latencies. Throws std::runtime_error if there is no
  // route.
  template <class Visit>
  double walk(int from, int to, Visit visit) const {
    const std::vector<std::uint16_t>& left = distances_to(to);
    double latency_s = 0;
    for (int at = from; at != to;) {
      const Vertex& vertex = vertices_[at];
      int choices = 0;
      for (const Arc& arc : vertex.arcs) choices += left[arc.to] < left[at];
      if (!choices)
        throw std::runtime_error("the machine's network has no route from node " + std::to_string(from) + " to node " +
                                 std::to_string(to));
      long chosen = vertex.divisor ? to / vertex.divisor % choices : 0;
      for (const Arc& arc : vertex.arcs)
        if (left[arc.to] < left[at] && chosen-- == 0) {
          visit(arc);
          latency_s += arc.latency_s;
          at = arc.to;
          break;
        }
    }
    return latency_s;
  }

  // Returns the distances in arcs from every vertex to `node`, which are computed at first use.
  const std::vector<std::uint16_t>& distances_to(int node) const {
    std::vector<std::uint16_t>& left = distances_[node];
    if (!left.empty()) return left;
    left.assign(vertices_.size(), UINT16_MAX);
    left[node] = 0;
    for (std::vector<int> front{node}, next; !front.empty(); front.swap(next), next.clear())
      for (const int at : front)
        for (const int before : sources_[at])
          if (left[before] == UINT16_MAX) left[before] = left[at] + 1, next.push_back(before);
    return left;
  }

  void read(const std::string& path, const std::set<std::string>& wanted) {
    std::ifstream file(path);
    if (!file) throw std::runtime_error("cannot read the platform file " + path + " (KIVIAT_PLATFORM)");
    std::vector<double> rates;
    std::vector<StandardLinkImpl*> links;
    std::map<const StandardLinkImpl*, double> rate_of_made;
    int mpich_version = 4;
    std::string refill_s;  // time to refill the buckets in seconds; empty without buckets
    const auto link = [&](std::size_t number) {
      StandardLinkImpl*& made = links.at(number);
      if (made) return made;
      const std::string name = "l" + std::to_string(number);
      create_link(name, {rates[number]})->seal();
      made = get_link_by_name_or_null(name);
      rate_of_made[made] = rates[number];
      return made;
    };
    const auto listed = [&](const std::string& text) {
      Links chosen;
      if (text == "-") return chosen;
      std::istringstream words(text);
      for (std::string word; std::getline(words, word, ',');) chosen.push_back(link(std::stoul(word)));
      return chosen;
    };
    kiviat::sim::allow_any_number_of_ranks();
    for (std::string line, kind; std::getline(file, line);) {
      std::istringstream words(line);
      words >> kind;
      if (kind == "link") {
        words >> rates.emplace_back();
        links.push_back(nullptr);
      } else if (kind == "node") {
        Node node;
        std::string cross;
        words >> node.name >> vertices_.emplace_back().divisor >> node.memory_bytes >> node.cache_bytes >> cross;
        node.cross = listed(cross);
        nodes_.push_back(std::move(node));
      } else if (kind == "switch") {
        words >> vertices_.emplace_back().divisor;
      } else if (kind == "arc") {
        int from, number;
        Arc arc;
        words >> from >> arc.to >> number >> arc.latency_s;
        arc.link = number < 0 ? nullptr : link(number);
        vertices_.at(from).arcs.push_back(arc);
      } else if (kind == "core") {
        Core core;
        std::string number, self, near_out, near_in, far_out, far_in;
        double speed;
        words >> core.node >> core.socket >> number >> speed >> self >> near_out >> near_in >> far_out >> far_in;
        const std::string name = "c" + std::to_string(core.node) + "." + number;
        if (!words.fail() && !wanted.empty() && !wanted.contains(name)) continue;
        core.self = listed(self), core.near_out = listed(near_out), core.near_in = listed(near_in);
        core.far_out = listed(far_out), core.far_in = listed(far_in);
        for (const StandardLinkImpl* one : core.self)
          core.memory_rate = std::min(core.memory_rate,
                                      rate_of_made.at(one) / static_cast<double>(std::ranges::count(core.self, one)));
        Node& node = nodes_.at(core.node);
        ++node.cores;
        s4u::Host* host = create_host(name, {speed});
        host->set_data(&sent_.emplace_back());
        host->set_property("node", node.name)
            ->set_property("refill_s", refill_s)
            ->set_property("socket", std::to_string(core.socket))
            ->set_property("core", number)
            ->set_property("memory_bytes", node.memory_bytes)
            ->set_property("cache_bytes", node.cache_bytes)
            ->seal();
        cores_.push_back(std::move(core));
      } else if (kind == "segment") {
        int level;
        Segment s;
        words >> level >> s.from_bytes >> s.latency_s >> s.rate >> s.send_s >> s.send_s_per_byte >> s.receive_s >>
            s.receive_s_per_byte >> s.after_s >> s.crossing_s >> s.crossing_s_per_byte;
        levels_.at(level).segments.push_back(s);
        levels_[level].best_rate = std::max(levels_[level].best_rate, s.rate);
      } else if (kind == "in_flight") {
        int level;
        double bytes;
        words >> level >> bytes;
        levels_.at(level).in_flight_bytes = bytes;
      } else if (kind == "cold") {
        Cold cold;
        words >> cold.cache_bytes >> cold.passes >> cold.core_rate >> cold.node_rate >> cold.levels;
        cold_ = cold;
        kiviat::sim::note_working_sets();
      } else if (kind == "crossing_ranks") {
        words >> crossing_ranks_;
      } else if (kind == "bucket") {
        double out, in, packet, trailer, rate;
        words >> out >> in >> packet >> trailer >> rate >> frame_bytes_ >> header_bytes_;
        for (Node& node : nodes_)
          node.out.emplace(out, packet, trailer, rate), node.in.emplace(in, packet, trailer, rate);
        std::ostringstream seconds;
        seconds << 2 * (std::max(out, in) + packet) / rate;
        refill_s = seconds.str();
      } else if (kind == "one_connection") {
        one_connection_ = true;
      } else if (kind == "packing") {
        double block_s, s_per_byte;
        words >> block_s >> s_per_byte;
        kiviat::sim::charge_packing(block_s, s_per_byte);
      } else if (kind == "mpich") {
        double allgather_bytes;
        words >> mpich_version >> allgather_bytes;
        kiviat::sim::decide_as_mpich(allgather_bytes);
      } else if (kind == "shared_memory") {
        kiviat::sim::SharedMemory memory;
        words >> memory.latency_s >> memory.flag_s >> memory.bytes_per_s >> memory.largest_bytes;
        kiviat::sim::share_memory(memory);
      } else if (kind == "node_aware") {
        kiviat::sim::make_collectives_node_aware(mpich_version);
      }
      if (words.fail()) throw std::runtime_error("platform file " + path + ": cannot parse the line '" + line + "'");
    }
    distances_.resize(nodes_.size());
    sources_.resize(vertices_.size());
    for (std::size_t from = 0; from < vertices_.size(); ++from)
      for (const Arc& arc : vertices_[from].arcs) sources_[arc.to].push_back(static_cast<int>(from));
  }

  const double rendezvous_bytes_ = simgrid::config::get_value<int>("smpi/send-is-detached-thresh");
  std::map<std::tuple<const s4u::Host*, const s4u::Host*, double>, long>
      paid_;  // number of rendezvous messages whose send time is charged and that do not flow yet
  // Messages of one size from one core to another: number started, number received, and those in flight, numbered,
  // with their flows.
  struct Sequence {
    long begun = 0, received = 0;
    std::deque<std::pair<long, const void*>> moving;
  };
  struct Moving {
    std::array<kiviat::UnderWay*, 2> ends;
    Sequence* like;
    Pair way;
  };
  std::map<std::tuple<const s4u::Host*, const s4u::Host*, double>, Sequence> alike_;
  // Rendezvous under way from one core to another, and whether the two ranks were in step when the first one began.
  struct Way {
    std::vector<const resource::Action*> flows;
    bool in_step = false;
  };
  struct Held {
    Message message;
    const void* before;  // null once it has ended
    double latency_s, earliest_s;
  };
  bool one_connection_ = false;
  std::map<Pair, Way> ways_;
  std::vector<Held> held_;
  // Seconds that the last message from one core to another saved because its bytes passed the buckets at once.
  std::map<Pair, double> saved_s_;
  std::unordered_map<const void*, Moving> under_way_;  // messages in flight, by address of the flow
  std::vector<Node> nodes_;
  std::optional<Cold> cold_;
  int crossing_ranks_ = 0;
  double frame_bytes_ = 1, header_bytes_ = 0;  // of a message in a frame of a link with buckets, and of its headers
  std::vector<Vertex> vertices_;
  std::vector<Core> cores_;
  std::deque<kiviat::Sent> sent_;  // counters of each core, attached to its host; a deque keeps addresses valid
  std::array<Level, 3> levels_;
  std::vector<std::vector<int>> sources_;  // for each vertex: the arcs that end there
  mutable std::vector<std::vector<std::uint16_t>> distances_;
};

}  // namespace

// Names of the hosts in smpirun's host file.
static std::set<std::string> hosts_of_ranks() {
  std::set<std::string> names;
  std::ifstream file(simgrid::config::get_value<std::string>("smpi/hostfile"));
  for (std::string name; file >> name;) names.insert(name);
  return names;
}

extern "C" void load_platform(const s4u::Engine& engine);

void load_platform(const s4u::Engine&) {
  const char* path = std::getenv("KIVIAT_PLATFORM");
  if (!path) throw std::runtime_error("KIVIAT_PLATFORM is not set; it must name the platform file");
  auto* machine = new Machine(path, hosts_of_ranks());  // now owned by SimGrid
  s4u::NetZone* zone = machine->get_iface();
  auto* model = zone->get_network_model();
  using Zones = std::unordered_set<s4u::NetZone*>;
  using LinksOfFlow = std::vector<s4u::Link*>;
  model->set_lat_factor_cb([machine](double bytes, const s4u::Host* from, const s4u::Host* to, const LinksOfFlow& links,
                                     const Zones&) { return machine->latency_factor(bytes, from, to, links); });
  model->set_bw_factor_cb(
      [](double, const s4u::Host*, const s4u::Host*, const LinksOfFlow&, const Zones&) { return 1.0; });
  using State = resource::Action::State;
  s4u::Link::on_communication_state_change_cb(
      [machine](resource::NetworkAction& flow, State) { machine->arrives(&flow); });
  const auto send = [machine](std::size_t bytes, const s4u::Host* from, const s4u::Host* to) {
    return machine->send_s(static_cast<double>(bytes), from, to);
  };
  smpi_register_op_cost_callback(SmpiOperation::SEND, send);
  smpi_register_op_cost_callback(SmpiOperation::ISEND, send);
  smpi_register_op_cost_callback(SmpiOperation::RECV,
                                 [machine](std::size_t bytes, const s4u::Host* from, const s4u::Host* to) {
                                   machine->received(static_cast<double>(bytes), from, to);
                                   return machine->receive_s(static_cast<double>(bytes), from, to);
                                 });
  if (const char* told = std::getenv("KIVIAT_SIMULATED_TIME"))
    s4u::Engine::on_simulation_end_cb([file = std::string(told)] {
      std::ofstream(file) << std::setprecision(12) << s4u::Engine::get_clock() << '\n';
    });
  zone->seal();
}
