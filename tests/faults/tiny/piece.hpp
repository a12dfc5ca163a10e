// Code that takes a compiler half a second.
#include <regex>
#include <string>

bool (*const used)(const std::string&) = [](const std::string& text) { return text.empty(); };
