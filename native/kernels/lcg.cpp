// A file of their own, in whose place a program of the tests has others: results of wrong seeds have to be refused.
#include "kernels/lcg.hpp"

namespace kiviat {

std::uint64_t Lcg::usual_seed() { return 314159265; }

std::uint64_t Lcg::seed_of_ep() { return 271828183; }

}  // namespace kiviat
