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

// Compiles a function for every SIMD width.
#define KIVIAT_EVERY_WIDTH KIVIAT_COMPILED_FOR("arch=x86-64-v4", "arch=x86-64-v3", "default")
