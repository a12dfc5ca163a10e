// Ends a detached message (an eager one, whose sender does not wait for it) in constant time. SimGrid's main actor
// keeps all detached messages in one list and searches it whenever one ends; on thousands of ranks this takes most of a
// simulation's time. Here each message moves from that list to a table as soon as it is added.
//
// SimGrid calls both functions through tables that the dynamic linker fills by name, so definitions in a preloaded
// library replace them. SimGrid installs no header of actors; the list is expected where version 3.32 has it. A message
// that is not the last one in this list stays with SimGrid.
#include <dlfcn.h>

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <cstddef>
#include <list>
#include <unordered_map>
#include <utility>

#include "simgrid/choice.hpp"

namespace simgrid::kernel {

namespace activity {
class ActivityImpl;
void intrusive_ptr_add_ref(ActivityImpl*);
void intrusive_ptr_release(ActivityImpl*);
}  // namespace activity

namespace actor {
class ActorImpl {
 public:
  static ActorImpl* self();
  bool is_maestro() const;

  std::byte before[0xc0];
  std::list<boost::intrusive_ptr<activity::ActivityImpl>> activities;
};
}  // namespace actor

}  // namespace simgrid::kernel

namespace {

using simgrid::kernel::activity::ActivityImpl;
using simgrid::kernel::actor::ActorImpl;

class Detached {
 public:
  void* detach(ActivityImpl* message) {
    void* const returned = detach_(message);
    if (choice_.usable && !take(message)) choice_.fall_back("SimGrid's list of messages is not where it was expected");
    return returned;
  }
  void finish(ActivityImpl* message) {
    finish_(message);
    held_.erase(message);
  }

 private:
  using Function = void*(ActivityImpl*);
  static Function* next(const char* name) { return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name)); }

  // The main actor starts the messages of all others.
  bool take(ActivityImpl* message) {
    ActorImpl* const main = ActorImpl::self();
    if (!main || !main->is_maestro() || main->activities.empty()) return false;
    auto& last = main->activities.back();
    if (last.get() != message) return false;
    held_[message] = std::move(last);
    main->activities.pop_back();
    return true;
  }

  Function* const detach_ = next("_ZN7simgrid6kernel8activity8CommImpl6detachEv");
  Function* const finish_ = next("_ZN7simgrid6kernel8activity8CommImpl6finishEv");
  const kiviat::sim::Choice choice_;
  std::unordered_map<ActivityImpl*, boost::intrusive_ptr<ActivityImpl>> held_;
};

Detached& detached() {
  static Detached& all = *new Detached;  // never destroyed: messages may end after static destructors ran
  return all;
}

}  // namespace

extern "C" void* kiviat_detach(ActivityImpl* message) asm("_ZN7simgrid6kernel8activity8CommImpl6detachEv");
extern "C" void* kiviat_detach(ActivityImpl* message) { return detached().detach(message); }
extern "C" void kiviat_finish(ActivityImpl* message) asm("_ZN7simgrid6kernel8activity8CommImpl6finishEv");
extern "C" void kiviat_finish(ActivityImpl* message) { detached().finish(message); }
