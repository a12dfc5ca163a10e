#include "kernels/fftw.hpp"

#include <cstdlib>
#include <utility>
#include <vector>

#include "support/dynamic_library.hpp"

namespace kiviat {
namespace {

constexpr unsigned measure = 0, estimate = 1U << 6;  // FFTW_MEASURE and FFTW_ESTIMATE of fftw3.h

}  // namespace

const Fftw* Fftw::find(std::string& why) {
  struct Found {
    Fftw fftw;
    bool usable = false;
    std::string why;
  };
  static const Found found = [] {
    Found it;
    const char* given = std::getenv("KIVIAT_FFTW");
    const std::vector<std::string> names =
        given && *given ? std::vector<std::string>{given}
                        : std::vector<std::string>{"libfftw3.so.3", "libfftw3.3.dylib", "libmkl_rt.so.2",
                                                   "libmkl_rt.so.1", "libmkl_rt.so"};
    for (const std::string& name : names) {
      void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (!library) continue;
      Fftw& fftw = it.fftw;
      fftw.plan_ = look_up<Plan*(int, const Dimension*, int, const Dimension*, Complex*, Complex*, int, unsigned)>(
          library, "fftw_plan_guru64_dft");
      fftw.execute_ = look_up<void(Plan*, Complex*, Complex*)>(library, "fftw_execute_dft");
      fftw.destroy_ = look_up<void(Plan*)>(library, "fftw_destroy_plan");
      fftw.limit_time_ = look_up<void(double)>(library, "fftw_set_timelimit");
      if (!fftw.plan_ || !fftw.execute_ || !fftw.destroy_) continue;
      const char* version = look_up<const char>(library, "fftw_version");
      fftw.version_ = version ? version : name.find("mkl") != std::string::npos ? "MKL" : "FFTW";
      fftw.path_ = path_of(reinterpret_cast<const void*>(fftw.plan_));
      it.usable = true;
      return it;
    }
    it.why =
        given && *given
            ? "KIVIAT_FFTW=" + std::string(given) +
                  " is no FFTW 3 in double precision: name its libfftw3.so.3, or MKL's libmkl_rt.so"
            : "no FFTW found (libfftw3.so.3, libmkl_rt.so): install one (`apt install libfftw3-double3`, `dnf install "
              "fftw-libs-double`), or name its file in KIVIAT_FFTW";
    return it;
  }();
  why = found.why;
  return found.usable ? &found.fftw : nullptr;
}

std::string Fftw::name() const { return path_.empty() ? version_ : version_ + ", " + path_; }

LocalFft::LocalFft(const Fftw& fftw, const Transforms& what, Complex* in, Complex* out, int sign, Planning planning)
    : fftw_(&fftw) {
  const Fftw::Dimension line{what.n, what.in_stride, what.out_stride},
      lines{what.count, what.in_distance, what.out_distance};
  if (fftw.limit_time_) fftw.limit_time_(fft_planning_s);
  plan_ = fftw.plan_(1, &line, 1, &lines, in, out, sign, planning == Planning::measured ? measure : estimate);
}

LocalFft::~LocalFft() {
  if (plan_) fftw_->destroy_(plan_);
}

LocalFft::LocalFft(LocalFft&& other) noexcept : fftw_(other.fftw_), plan_(std::exchange(other.plan_, nullptr)) {}

LocalFft& LocalFft::operator=(LocalFft&& other) noexcept {
  std::swap(fftw_, other.fftw_);
  std::swap(plan_, other.plan_);
  return *this;
}

}  // namespace kiviat
