#include "platform/message_counter.hpp"

namespace kiviat {

MessageCounter::MessageCounter(const Assembly&) {}

MessageCount MessageCounter::now() const { return {}; }

}  // namespace kiviat
