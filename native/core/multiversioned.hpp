// Functions that are compiled for several sets of instructions, and of which the one for this processor is called.
#pragma once

#if defined __x86_64__ && defined __gnu_linux__ && defined __GNUC__ && !defined __clang__
#define KIVIAT_MULTIVERSIONED __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define KIVIAT_MULTIVERSIONED
#endif
