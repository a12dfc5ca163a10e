// Payload of messages, built so that lost, swapped or damaged ones are detected.
//
// Every byte is a function of seed, sender and position. Before a checked call the receive buffer is filled
// with the complement of what should arrive, so that a single missing byte shows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace kiviat::payload {

// Why a check did not run.
inline constexpr const char* not_moved = "the simulator did not move payload";

// Fills `out` with the bytes [offset, offset + size) of what `sender` sends.
void fill(std::span<std::byte> out, std::uint64_t seed, int sender, std::size_t offset = 0);
// Fills `out` with the complement of those bytes.
void poison(std::span<std::byte> out, std::uint64_t seed, int sender, std::size_t offset = 0);
// Position of the first byte that is not as `sender` sent it, or in.size().
std::size_t first_wrong(std::span<const std::byte> in, std::uint64_t seed, int sender, std::size_t offset = 0);

// Reductions carry small whole numbers as floats, so that any order of summation is exact: the
// contribution of a rank plus that of the position.
void fill_addends(std::span<float> out, std::uint64_t seed, int rank);
void poison_sums(std::span<float> out, std::uint64_t seed, int ranks, std::size_t first);
std::size_t first_wrong_sum(std::span<const float> in, std::uint64_t seed, int ranks, std::size_t first);

}  // namespace kiviat::payload
