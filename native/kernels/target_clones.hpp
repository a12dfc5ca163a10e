// Function multiversioning: a function is compiled for several instruction sets, and the best one is called at run
// time.
#pragma once

// KIVIAT_COMPILED_FOR takes the instruction sets by GCC's names, including "default". If the compiler or the system
// does not support multiversioning, only one version is compiled; so with ThreadSanitizer, which cannot run in the
// functions that choose a version, because they run before it starts.
#if defined __x86_64__ && defined __gnu_linux__ && defined __GNUC__ && !defined __clang__ && \
    !defined __SANITIZE_THREAD__
#define KIVIAT_COMPILED_FOR(...) __attribute__((target_clones(__VA_ARGS__)))
#else
#define KIVIAT_COMPILED_FOR(...)
#endif

// Compile a function for every SIMD width, or for those up to AVX2. Names of single processors would not do: GCC takes
// such a version on these alone, not on their successors.
#if defined __GNUC__ && __GNUC__ >= 12
#define KIVIAT_EVERY_WIDTH KIVIAT_COMPILED_FOR("arch=x86-64-v4", "arch=x86-64-v3", "default")
#define KIVIAT_UP_TO_AVX2 KIVIAT_COMPILED_FOR("arch=x86-64-v3", "default")
#else  // GCC 11 knows no levels of x86-64
#define KIVIAT_EVERY_WIDTH KIVIAT_COMPILED_FOR("avx512f", "avx2", "default")
#define KIVIAT_UP_TO_AVX2 KIVIAT_COMPILED_FOR("avx2", "default")
#endif
