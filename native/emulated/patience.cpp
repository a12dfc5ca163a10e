// Preloaded into the ranks of an MPICH that uses UCX, where emulated nodes share the cores of one machine.
//
// MPICH polls UCX without ever giving its core to another rank: with more ranks than cores each message
// then waits for the end of a time slice, some milliseconds. With KIVIAT_UCX_YIELD=1 a poll that finds
// nothing yields.
//
// MPICH 4 closes its connections at the end in a way that waits for an answer of the other side, which
// may already be in the final barrier and answer nobody (seen: 4.0.2 with UCX 1.13, TCP, up to two thirds
// of all launches). With KIVIAT_UCX_NO_FLUSH=1 they are not closed one by one; the worker, which goes
// after the barrier, takes them along. All messages have been received by then: the program has ended.
#include <dlfcn.h>
#include <sched.h>

#include <cstdlib>

namespace {

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

bool asked(const char* variable) {
  const char* value = std::getenv(variable);
  return value && *value == '1';
}

}  // namespace

extern "C" unsigned ucp_worker_progress(void* worker) {
  static unsigned (*const progress)(void*) = next<unsigned(void*)>("ucp_worker_progress");
  static const bool yields = asked("KIVIAT_UCX_YIELD");
  const unsigned events = progress(worker);
  if (events == 0 && yields) sched_yield();
  return events;
}

extern "C" void* ucp_disconnect_nb(void* endpoint) {
  static void* (*const disconnect)(void*) = next<void*(void*)>("ucp_disconnect_nb");
  static const bool skips = asked("KIVIAT_UCX_NO_FLUSH");
  return skips ? nullptr : disconnect(endpoint);
}
