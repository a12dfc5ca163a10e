#include "meters/energy.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "platform/clock.hpp"
#include "support/failure.hpp"

namespace kiviat::energy {
namespace {

constexpr double least_renewals = 10;  // start and end may each be off by one update, so by at most 10 % together

std::string in_words(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", number);
  return text;
}

// Returns the energy of one kernel from one source in J; if unknown, NaN, and the reason in `trouble`.
double joules_of(const Source& source, const Spent& spent, std::size_t at, std::string& trouble) {
  const auto& joules = spent.joules[at];
  if (joules && *joules > 0 && spent.seconds >= least_renewals * source.renewed_s) return *joules;
  trouble = source.origin + ' ' +
            (joules && spent.seconds < least_renewals * source.renewed_s
                 ? "cannot measure durations below " + in_words(least_renewals * source.renewed_s) + " s in all"
                 : spent.trouble[at]);
  return Account::unknown;
}

std::string join(const std::vector<std::string>& words, const char* between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

// Serialisation.
std::string numbers(const std::vector<double>& values) {
  std::string text;
  for (const double value : values) {
    char word[40];
    std::snprintf(word, sizeof word, "\t%.17g", value);
    text += word;
  }
  return text;
}

std::vector<double> numbers_of(std::istringstream& words) {
  std::vector<double> values;
  for (std::string word; std::getline(words, word, '\t');) values.push_back(std::strtod(word.c_str(), nullptr));
  return values;
}

std::vector<std::string> names(const std::vector<Kernel>& kernels) {
  std::vector<std::string> found;
  for (const Kernel& kernel : kernels) found.push_back(kernel.name);
  return found;
}

void add_table(Result& result, Table table) {
  if (std::ranges::any_of(table.values, [](double value) { return std::isfinite(value); }))
    result.tables.push_back(std::move(table));
}

}  // namespace

std::optional<Watts> parse_watts(std::string_view text) {
  if (text.empty()) return std::nullopt;
  const auto slash = text.find('/');
  const std::string number(text.substr(0, slash)), of(slash == std::string_view::npos ? "" : text.substr(slash + 1));
  char* end = nullptr;
  const double watts = std::strtod(number.c_str(), &end);
  if (number.empty() || *end != 0 || !std::isfinite(watts) || watts <= 0 || (of != "node" && of != "socket"))
    throw UsageError("watts is '" + std::string(text) +
                     "': give watts per node or per socket, such as 115/node or 95/socket");
  return Watts{watts, of == "socket"};
}

void Reader::start() {
  for (const auto& source : found_.sources) source->begin();
  started_s_ = clock::now();
  double patience_s = 3600;
  for (const auto& source : found_.sources) patience_s = std::min(patience_s, source->patience_s);
  if (found_.sources.empty() || pipe2(stop_, O_CLOEXEC) != 0) return;
  // Block signals, so that the program's handlers never run on this thread.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  watch_ = std::thread(&Reader::watch, this, static_cast<int>(1000 * patience_s));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Reader::watch(int milliseconds) {
  pollfd ended{stop_[0], POLLIN, 0};
  while (poll(&ended, 1, milliseconds) == 0)
    for (const auto& source : found_.sources) source->look();
}

void Reader::end_watch() {
  if (!watch_.joinable()) return;
  // Closing this end does not suffice, because a forked child may hold it open, too; so write a byte.
  [[maybe_unused]] const auto told = write(stop_[1], "", 1);
  watch_.join();
  for (const int end : stop_) close(end);
}

void Reader::stop() {
  end_watch();
  for (const auto& source : found_.sources) source->look();
  seconds_ = clock::now() - started_s_;
}

std::string Account::text() const {
  std::string text = words + '\n' + numbers(joules) + '\n' + numbers(watts) + '\n';
  for (const Part& part : parts) text += part.name + numbers(part.joules) + '\n';
  return text;
}

Account Account::from(const std::string& text, std::size_t kernels) {
  std::istringstream lines(text);
  Account account;
  std::string line, word;
  std::getline(lines, account.words);
  for (std::vector<double>* values : {&account.joules, &account.watts}) {
    std::getline(lines, line);
    std::istringstream cells(line);
    std::getline(cells, word, '\t');
    *values = numbers_of(cells);
    values->resize(kernels, unknown);  // pads truncated data with unknown values
  }
  while (std::getline(lines, line)) {
    std::istringstream cells(line);
    std::getline(cells, word, '\t');
    account.parts.push_back({word, numbers_of(cells)});
    account.parts.back().joules.resize(kernels, unknown);
  }
  return account;
}

Account account(const Reader& reader, const std::vector<Kernel>& kernels, const std::vector<Spent>& spent) {
  const auto& sources = reader.sources();
  // A source for the whole node takes precedence over the sum of parts.
  std::vector<std::size_t> counted;
  for (const Covers covers : {Covers::node, Covers::part})
    for (std::size_t at = 0; at < sources.size() && (counted.empty() || covers == Covers::part); ++at)
      if (sources[at]->covers == covers) counted.push_back(at);
  if (!counted.empty() && sources[counted.front()]->covers == Covers::node) counted.resize(1);

  Account found;
  std::vector<std::pair<std::string, std::string>> missed;  // reasons why energy is unknown, and their kernels
  bool any = false;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    double joules = Account::unknown;
    std::vector<std::string> wrong;
    for (const std::size_t at : counted) {
      std::string trouble;
      const double part = joules_of(*sources[at], spent[k], at, trouble);
      if (!trouble.empty()) wrong.push_back(trouble);
      // Leaves a part without a reading out of the sum and names it.
      if (std::isfinite(part)) joules = std::isfinite(joules) ? joules + part : part;
    }
    for (const std::string& trouble : wrong) {
      const auto known = std::ranges::find(missed, trouble, &std::pair<std::string, std::string>::first);
      if (known == missed.end())
        missed.emplace_back(trouble, kernels[k].name);
      else
        known->second += ", " + kernels[k].name;
    }
    any = any || std::isfinite(joules);
    found.joules.push_back(joules / kernels[k].repetitions);
    found.watts.push_back(joules / spent[k].seconds);
  }
  for (std::size_t at = 0; at < sources.size(); ++at) {
    auto part = std::ranges::find(found.parts, sources[at]->name, &Account::Part::name);
    if (part == found.parts.end())
      part = found.parts.insert(part, {sources[at]->name, std::vector<double>(kernels.size(), Account::unknown)});
    // Does not add sources that are contained in another source of the same name.
    const bool within = sources[at]->covers == Covers::aside && std::ranges::any_of(sources, [&](const auto& other) {
                          return other->name == part->name && other->covers != Covers::aside;
                        });
    for (std::size_t k = 0; k < kernels.size() && !within; ++k) {
      std::string trouble;
      const double joules = joules_of(*sources[at], spent[k], at, trouble) / kernels[k].repetitions;
      if (double& sum = part->joules[k]; std::isfinite(joules)) sum = std::isfinite(sum) ? sum + joules : joules;
    }
  }

  std::vector<std::string> origins, aside, troubles;
  for (const auto& [trouble, of] : missed) troubles.push_back(trouble + " (" + of + ')');
  for (const std::size_t at : counted) origins.push_back(sources[at]->origin);
  for (std::size_t at = 0; at < sources.size(); ++at)
    if (std::ranges::find(counted, at) == counted.end()) aside.push_back(sources[at]->origin);
  if (any) {
    found.words = "measured: " + join(origins, " + ");
    if (!aside.empty()) found.words += "; not in the sum: " + join(aside, ", ");
    if (!troubles.empty()) found.words += "; but " + join(troubles, ", ");
  } else if (!counted.empty()) {
    found.words = "unavailable: " + join(troubles, ", ");
  } else {
    found.words = "unavailable: " + join(reader.missing(), ", ");
    if (!aside.empty()) found.words += "; the share of the node that " + join(aside, ", ") + " measure is unknown";
  }
  return found;
}

void tell(Result& result, const std::vector<Kernel>& kernels, const std::vector<std::string>& nodes,
          const std::vector<Account>& accounts) {
  const std::vector<std::string> rows = names(kernels);
  Table joules("energy", "J", "lower", {{"kernel", rows}, {"node", nodes}}), watts("power", "W", "lower", joules.axes);
  std::vector<Account::Part> parts;
  for (std::size_t node = 0; node < accounts.size(); ++node) {
    const Account& account = accounts[node];
    for (std::size_t k = 0; k < kernels.size(); ++k)
      joules.at({k, node}) = account.joules[k], watts.at({k, node}) = account.watts[k];
    for (const Account::Part& part : account.parts) {
      const auto known = std::ranges::find(parts, part.name, &Account::Part::name);
      if (known == parts.end()) {
        parts.push_back(part);
        continue;
      }
      for (std::size_t k = 0; k < kernels.size(); ++k)
        if (double& sum = known->joules[k]; std::isfinite(part.joules[k]))
          sum = std::isfinite(sum) ? sum + part.joules[k] : part.joules[k];
    }
  }
  add_table(result, std::move(joules));
  add_table(result, std::move(watts));
  if (!parts.empty()) {
    std::vector<std::string> sources;
    for (const auto& part : parts) sources.push_back(part.name);
    Table by_source("energy_by_source", "J", "lower", {{"kernel", rows}, {"source", sources}});
    for (std::size_t at = 0; at < parts.size(); ++at)
      for (std::size_t k = 0; k < kernels.size(); ++k) by_source.at({k, at}) = parts[at].joules[k];
    add_table(result, std::move(by_source));
  }
  // Nodes may have different sources.
  std::string words = accounts.front().words;
  for (std::size_t node = 1; node < accounts.size(); ++node)
    if (accounts[node].words != accounts.front().words) words += "; on " + nodes[node] + ' ' + accounts[node].words;
  result.note("energy", words);
}

}  // namespace kiviat::energy
