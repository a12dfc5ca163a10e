// Something that a compiler is busy with for half a second.
#include <regex>
#include <string>

bool (*const used)(const std::string&) = [](const std::string& text) { return text.empty(); };
