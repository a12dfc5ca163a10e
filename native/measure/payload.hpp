// Message payload that detects lost, swapped and corrupted messages.
//
// Every byte is a function of seed, sender and position. Before a checked call the receive buffer is filled with the
// complement of the expected bytes, so that even one missing byte is detected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace kiviat::payload {

// Reason given when a simulation moves no payload, so that nothing is checked.
inline constexpr const char* not_moved = "the simulator did not move payload";

// Fills `out` with bytes [offset, offset + size) of `sender`'s payload.
void fill(std::span<std::byte> out, std::uint64_t seed, int sender, std::size_t offset = 0);
// Fills `out` with the complement of bytes [offset, offset + size) of `sender`'s payload.
void poison(std::span<std::byte> out, std::uint64_t seed, int sender, std::size_t offset = 0);
// Returns the position of the first byte that differs from `sender`'s payload, in.size() if none does.
std::size_t first_wrong(std::span<const std::byte> in, std::uint64_t seed, int sender, std::size_t offset = 0);

// Payload of sum reductions: small whole numbers as floats, so that any order of summation is exact. Elements depend on
// rank and position; `first` is the position of out[0] or in[0] in the reduced vector.
void fill_addends(std::span<float> out, std::uint64_t seed, int rank);
void poison_sums(std::span<float> out, std::uint64_t seed, int ranks, std::size_t first);
std::size_t first_wrong_sum(std::span<const float> in, std::uint64_t seed, int ranks, std::size_t first);

}  // namespace kiviat::payload
