// Computation on a simulated core takes the longer of arithmetic and memory traffic (S. Williams, A. Waterman, D.
// Patterson, "Roofline", CACM 52(4), 2009). Memory traffic is a transfer from the host to itself, over the link of
// the core and the bus that it shares with other cores and with messages.
#include "platform/compute.hpp"

#include <simgrid/s4u/Actor.hpp>
#include <simgrid/s4u/Comm.hpp>
#include <simgrid/s4u/Engine.hpp>
#include <simgrid/s4u/Exec.hpp>
#include <simgrid/s4u/Host.hpp>

#include "platform/node.hpp"
#include "simgrid/sent.hpp"

namespace kiviat {
namespace {

// A core that is still busy with a message that it sent computes when it is free.
void finish_sending() {
  const double until_s = simgrid::s4u::this_actor::get_host()->get_data<Sent>()->busy_until_s;
  if (until_s > simgrid::s4u::Engine::get_clock()) simgrid::s4u::this_actor::sleep_until(until_s);
}

}  // namespace

void work::run(const Cost& cost, const std::function<void()>& kernel, Kernel kind) {
  namespace actor = simgrid::s4u::this_actor;
  if (kind == Kernel::needed || host::carries_payload()) kernel();
  finish_sending();
  simgrid::s4u::CommPtr traffic;
  simgrid::s4u::ExecPtr arithmetic;
  if (cost.bytes > 0)
    traffic =
        simgrid::s4u::Comm::sendto_async(actor::get_host(), actor::get_host(), static_cast<std::uint64_t>(cost.bytes));
  if (cost.flops > 0) arithmetic = actor::exec_async(cost.flops);
  if (arithmetic) arithmetic->wait();
  if (traffic) traffic->wait();
}

double burn(std::int64_t steps, double x) {
  constexpr double flops_of_step = 2;
  finish_sending();
  simgrid::s4u::this_actor::execute(flops_of_step * static_cast<double>(steps));
  return x;
}

}  // namespace kiviat
