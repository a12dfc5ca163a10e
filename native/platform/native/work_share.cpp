#include "platform/work_share.hpp"

namespace kiviat {

Pieces::Pieces(const Assembly& assembly, std::size_t count, std::size_t values, const Progress&)
    : assembly_(assembly), count_(count), values_(values), own_(count * values), shares_(nullptr) {
  results_ = own_.data();
}

Pieces::~Pieces() = default;

bool Pieces::mine(std::size_t) const { return true; }

bool Pieces::leads() const { return true; }

void Pieces::collect() {}

}  // namespace kiviat
