#include "kernels/blas.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <vector>

#include "support/dynamic_library.hpp"
#include "support/failure.hpp"

namespace kiviat {
namespace {

constexpr const char* core_variable = "OPENBLAS_CORETYPE";

// Fortran interface, which every BLAS has. `Integer` is 32 bits unless names end in 64_ or OpenBLAS says otherwise.
// Lengths of character arguments come last.
template <class Integer>
using Gemm = void(const char*, const char*, const Integer*, const Integer*, const Integer*, const double*,
                  const double*, const Integer*, const double*, const Integer*, const double*, double*, const Integer*,
                  std::size_t, std::size_t);
template <class Integer>
using Trsm = void(const char*, const char*, const char*, const char*, const Integer*, const Integer*, const double*,
                  const double*, const Integer*, double*, const Integer*, std::size_t, std::size_t, std::size_t,
                  std::size_t);

template <class Integer>
void bind(Blas& blas, void* gemm_address, void* trsm_address) {
  auto* const gemm = reinterpret_cast<Gemm<Integer>*>(gemm_address);
  auto* const trsm = reinterpret_cast<Trsm<Integer>*>(trsm_address);
  blas.gemm = [gemm](std::int64_t m, std::int64_t n, std::int64_t k, double alpha, const double* a, std::int64_t lda,
                     const double* b, std::int64_t ldb, double beta, double* c, std::int64_t ldc) {
    if (m <= 0 || n <= 0) return;
    const auto rows = static_cast<Integer>(m), columns = static_cast<Integer>(n), inner = static_cast<Integer>(k);
    const auto a_step = static_cast<Integer>(lda), b_step = static_cast<Integer>(ldb),
               c_step = static_cast<Integer>(ldc);
    gemm("N", "N", &rows, &columns, &inner, &alpha, a, &a_step, b, &b_step, &beta, c, &c_step, 1, 1);
  };
  blas.trsm = [trsm](std::int64_t m, std::int64_t n, const double* l, std::int64_t ldl, double* b, std::int64_t ldb) {
    if (m <= 0 || n <= 0) return;
    const auto rows = static_cast<Integer>(m), columns = static_cast<Integer>(n);
    const auto l_step = static_cast<Integer>(ldl), b_step = static_cast<Integer>(ldb);
    const double one = 1;
    trsm("L", "L", "N", "U", &rows, &columns, &one, l, &l_step, b, &b_step, 1, 1, 1, 1);
  };
}

// Name decoration: SciPy's builds have the prefix scipy_, those with 64-bit integers the suffix 64_.
struct Naming {
  const char *before, *after;
  std::string of(const char* name) const { return std::string(before) + name + after; }
};
constexpr std::array namings = {Naming{"", ""}, Naming{"scipy_", ""}, Naming{"scipy_", "64_"}, Naming{"", "64_"}};

template <class Function>
Function* function(void* library, const std::string& name) {
  return look_up<Function>(library, name.c_str());
}

std::string processor_flags() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("flags")) return line.substr(std::min(line.size(), line.find(':') + 1)) + " ";
  return "";
}

std::string core_of_openblas(void* library, const Naming& naming) {
  const auto core = function<const char*()>(library, naming.of("openblas_get_corename"));
  return core ? core() : "";
}

// OpenBLAS selects its kernels when loaded: if the selection is poor, it is loaded again with another one requested.
void* reload_if_misled(void* library, const char* file, const Naming& naming) {
  const std::string core = core_of_openblas(library, naming), better = better_core(core, processor_flags());
  if (core.empty() || better.empty() || std::getenv(core_variable)) return library;
  dlclose(library);
  setenv(core_variable, better.c_str(), 1);
  return dlopen(file, RTLD_NOW | RTLD_LOCAL);
}

// Sets the library's name and version, and its function for the number of threads.
void introduce(Blas& blas, void* library, const Naming& naming) {
  if (const auto config = function<const char*()>(library, naming.of("openblas_get_config"))) {
    std::istringstream words(config());
    std::string first, version;
    words >> first >> version;
    const std::string core = core_of_openblas(library, naming);
    const std::string told = std::getenv(core_variable) ? std::string(" as ") + core_variable + " says" : "";
    blas.name =
        "OpenBLAS " + (first == "OpenBLAS" ? version : "before 0.3.4") + (core.empty() ? "" : " (" + core + ")" + told);
    if (const auto set = function<void(int)>(library, naming.of("openblas_set_num_threads"))) blas.set_threads = set;
  } else if (const auto bli_version = function<const char*()>(library, "bli_info_get_version_str")) {
    blas.name = std::string("BLIS ") + bli_version();
    // BLIS may have 32- or 64-bit integers; in registers, small numbers look the same.
    if (const auto set = function<void(std::int64_t)>(library, "bli_thread_set_num_threads"))
      blas.set_threads = [set](int threads) { set(threads); };
  } else if (const auto mkl_version = function<void(char*, int)>(library, "MKL_Get_Version_String")) {
    char text[200] = {};
    mkl_version(text, sizeof text - 1);
    blas.name = text;
    blas.name.erase(blas.name.find_last_not_of(' ') + 1);
    if (const auto set = function<void(int)>(library, "MKL_Set_Num_Threads")) blas.set_threads = set;
  } else {
    blas.name = blas.path.find("Accelerate") != std::string::npos ? "Accelerate" : "a BLAS without a name";
  }
}

// Returns whether integers have 64 bits, which names need not show.
bool has_long_integers(void* library, const Naming& naming) {
  const auto config = function<const char*()>(library, naming.of("openblas_get_config"));
  return *naming.after || (config && std::string(config()).find("USE64BITINT") != std::string::npos);
}

// Loads `file` into `blas`; returns false if it is not a BLAS.
bool load(const char* file, Blas& blas) {
  void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (!library) return false;
  for (const Naming& naming : namings) {
    if (!function<void()>(library, naming.of("dgemm_")) || !function<void()>(library, naming.of("dtrsm_"))) continue;
    library = reload_if_misled(library, file, naming);
    if (!library) return false;
    void *const gemm = dlsym(library, naming.of("dgemm_").c_str()), *const trsm =
                                                                        dlsym(library, naming.of("dtrsm_").c_str());
    if (has_long_integers(library, naming))
      bind<std::int64_t>(blas, gemm, trsm);
    else
      bind<std::int32_t>(blas, gemm, trsm);
    blas.path = path_of(gemm);
    introduce(blas, library, naming);
    return true;
  }
  dlclose(library);
  return false;
}

}  // namespace

std::string better_core(const std::string& core, const std::string& flags) {
  // Core types with kernels for AVX2 or newer; Zen uses Haswell's.
  constexpr std::array modern = {"Haswell",        "Zen",           "Excavator", "SkylakeX", "Cooperlake",
                                 "Sapphirerapids", "SapphireRapids"};
  const auto has = [&](const char* flag) {
    return (" " + flags + " ").find(std::string(" ") + flag + " ") != std::string::npos;
  };
  if (!has("avx2") || !has("fma") || std::ranges::find(modern, core) != modern.end()) return "";
  return has("avx512f") && has("avx512dq") && has("avx512vl") ? "SkylakeX" : "Haswell";
}

Blas find_blas() {
  Blas blas;
  if (const char* given = std::getenv("KIVIAT_BLAS"); given && *given) {
    if (load(given, blas)) return blas;
    const char* why = dlerror();
    throw Skip(std::string("KIVIAT_BLAS=") + given + " is not a BLAS library with dgemm and dtrsm" +
               (why ? std::string(": ") + why : "") + "; give the path of one, or unset KIVIAT_BLAS");
  }
  constexpr std::array files = {
      "libopenblas.so.0",  "libopenblas.so", "libopenblasp.so.0",
      "libopenblaso.so.0", "libblis.so.4",   "libblis-mt.so.4",
      "libblis.so.3",      "libblis.so",     "libmkl_rt.so.2",
      "libmkl_rt.so.1",    "libmkl_rt.so",   "/System/Library/Frameworks/Accelerate.framework/Accelerate",
      "libblas.so.3",      "libblas.so"};
  for (const char* file : files)
    if (load(file, blas)) return blas;
  throw Skip(
      "no BLAS library found: install one (Debian and Ubuntu: apt install libopenblas0-pthread), or give its path "
      "in KIVIAT_BLAS");
}

}  // namespace kiviat
