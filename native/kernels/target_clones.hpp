// Function multiversioning: a function is compiled for several instruction sets, and the best one is called at run
// time.
#pragma once

// The sets by GCC's names for them, "default" among them; one version only where compiler or system cannot choose.
#if defined __x86_64__ && defined __gnu_linux__ && defined __GNUC__ && !defined __clang__
#define KIVIAT_COMPILED_FOR(...) __attribute__((target_clones(__VA_ARGS__)))
#else
#define KIVIAT_COMPILED_FOR(...)
#endif

// For every width of vectors that there is.
#define KIVIAT_EVERY_WIDTH KIVIAT_COMPILED_FOR("arch=x86-64-v4", "arch=x86-64-v3", "default")
