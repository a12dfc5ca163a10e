// Numbers of the profiled MPI calls: their positions in calls.hpp.
#pragma once

#include <cstdint>

namespace kiviat::prof {

enum class Call : std::uint8_t {
#define KIVIAT_CALL(Name, ...) Name,
#define KIVIAT_SIZED KIVIAT_CALL
#define KIVIAT_NAMED KIVIAT_CALL
#define KIVIAT_MPI4 KIVIAT_CALL
#define KIVIAT_MPI4_SIZED KIVIAT_CALL
#define KIVIAT_MPI4_NAMED KIVIAT_CALL
#define KIVIAT_PERSISTENT KIVIAT_CALL
#define KIVIAT_PERSISTENT_PLAIN KIVIAT_CALL
#include "prof/calls.hpp"
#undef KIVIAT_CALL
#undef KIVIAT_SIZED
#undef KIVIAT_NAMED
#undef KIVIAT_MPI4
#undef KIVIAT_MPI4_SIZED
#undef KIVIAT_MPI4_NAMED
#undef KIVIAT_PERSISTENT
#undef KIVIAT_PERSISTENT_PLAIN
  count
};

inline constexpr const char* names[] = {
#define KIVIAT_CALL(Name, ...) #Name,
#define KIVIAT_SIZED KIVIAT_CALL
#define KIVIAT_NAMED KIVIAT_CALL
#define KIVIAT_MPI4 KIVIAT_CALL
#define KIVIAT_MPI4_SIZED KIVIAT_CALL
#define KIVIAT_MPI4_NAMED KIVIAT_CALL
#define KIVIAT_PERSISTENT KIVIAT_CALL
#define KIVIAT_PERSISTENT_PLAIN KIVIAT_CALL
#include "prof/calls.hpp"
#undef KIVIAT_CALL
#undef KIVIAT_SIZED
#undef KIVIAT_NAMED
#undef KIVIAT_MPI4
#undef KIVIAT_MPI4_SIZED
#undef KIVIAT_MPI4_NAMED
#undef KIVIAT_PERSISTENT
#undef KIVIAT_PERSISTENT_PLAIN
};

}  // namespace kiviat::prof
