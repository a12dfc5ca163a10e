// Library that ranks of an MPICH with UCX preload on emulated clusters, whose nodes share the cores of one machine.
//
// MPICH polls UCX without ever yielding its core. If there are more ranks than cores, each message then waits for the
// end of a time slice, some milliseconds. With KIVIAT_UCX_YIELD=1 an unsuccessful poll yields.
//
// When a launch ends, MPICH 4 closes each connection and waits for an answer of the other rank, which may already be in
// the final barrier and never answer (seen with 4.0.2 and UCX 1.13 over TCP, in up to two thirds of all launches). With
// KIVIAT_UCX_NO_FLUSH=1 connections are not closed one by one; destroying the worker, after the barrier, closes them.
// All messages have been received by then.
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
