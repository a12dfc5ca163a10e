// KIVIAT_EACH(macro, (a, b), (c, d)) expands to macro(a, b), macro(c, d): generates parameter and argument lists from
// one list in calls.hpp.
#pragma once

#define KIVIAT_RESCAN(...) KIVIAT_RESCAN_4(KIVIAT_RESCAN_4(KIVIAT_RESCAN_4(__VA_ARGS__)))
#define KIVIAT_RESCAN_4(...) KIVIAT_RESCAN_2(KIVIAT_RESCAN_2(KIVIAT_RESCAN_2(__VA_ARGS__)))
#define KIVIAT_RESCAN_2(...) __VA_ARGS__
#define KIVIAT_PARENTHESES ()

#define KIVIAT_EACH(macro, ...) __VA_OPT__(KIVIAT_RESCAN(KIVIAT_EACH_STEP(macro, __VA_ARGS__)))
#define KIVIAT_EACH_STEP(macro, one, ...) \
  macro one __VA_OPT__(, KIVIAT_EACH_AGAIN KIVIAT_PARENTHESES(macro, __VA_ARGS__))
#define KIVIAT_EACH_AGAIN() KIVIAT_EACH_STEP
