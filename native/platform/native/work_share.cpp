#include "platform/work_share.hpp"

namespace kiviat {

WorkShare::WorkShare(const RankGroup& group, std::size_t count, std::size_t values, const Progress&)
    : group_(group), count_(count), values_(values), own_(count * values), shares_(nullptr) {
  results_ = own_.data();
}

WorkShare::~WorkShare() = default;

bool WorkShare::mine(std::size_t) const { return true; }

bool WorkShare::leads() const { return true; }

void WorkShare::collect() {}

}  // namespace kiviat
