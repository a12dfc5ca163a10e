#include "prof/real.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace kiviat::prof {
namespace {

struct Search {
  const char* symbol;
  void* found;
};

// RTLD_NEXT does not search libraries loaded by plug-ins, so all loaded libraries named libmpi… are visited.
int ask(dl_phdr_info* library, std::size_t, void* given) {
  auto* search = static_cast<Search*>(given);
  const char* name = std::strrchr(library->dlpi_name, '/');
  if (!name || std::strncmp(name, "/libmpi", 7) != 0) return 0;
  if (void* handle = dlopen(library->dlpi_name, RTLD_LAZY | RTLD_NOLOAD)) {
    search->found = dlsym(handle, search->symbol);
    dlclose(handle);
  }
  return search->found != nullptr;
}

}  // namespace

void* find(const char* symbol) {
  if (void* found = dlsym(RTLD_NEXT, symbol)) return found;
  Search search{symbol, nullptr};
  dl_iterate_phdr(ask, &search);
  return search.found;
}

void* find_variable(const char* symbol) {
  void* const found = dlsym(RTLD_DEFAULT, symbol);
  return found ? found : find(symbol);
}

void* real(const char* symbol) {
  if (void* found = find(symbol)) return found;
  std::fprintf(stderr, "kiviat: the program calls %s, but no loaded MPI library defines it\n", symbol);
  std::abort();
}

void* behind(const char* symbol) {
  static const bool recorded = dlsym(RTLD_NEXT, "kiviat_recorder") != nullptr;
  void* const found = recorded ? dlsym(RTLD_NEXT, symbol + 1) : nullptr;  // skips the P: PMPI_Send becomes MPI_Send
  return found ? found : real(symbol);
}

}  // namespace kiviat::prof
