#include "platform/message_counter.hpp"

namespace kiviat {

MessageCounter::MessageCounter(const RankGroup&) {}

MessageCount MessageCounter::now() const { return {}; }

}  // namespace kiviat
