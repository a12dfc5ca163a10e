// Replaces NVIDIA's management library, with three GPUs: the first uses 2.5 J between two readings, the second reports
// 70 W, the third nothing.
#include <cstdint>

extern "C" {

int nvmlInit_v2() { return 0; }

int nvmlDeviceGetCount_v2(unsigned* count) { return *count = 3, 0; }

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  *device = reinterpret_cast<void*>(static_cast<std::uintptr_t>(index + 1));
  return 0;
}

int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* millijoules) {
  static unsigned long long counted = 1'000'000;
  if (reinterpret_cast<std::uintptr_t>(device) != 1) return 3;
  return *millijoules = counted += 2500, 0;
}

int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) {
  if (reinterpret_cast<std::uintptr_t>(device) == 3) return 3;
  return *milliwatts = 70'000, 0;
}

}  // extern "C"
