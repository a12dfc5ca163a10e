// Memory limits of control groups, from fabricated files.
#include "platform/native/memory_limits.hpp"

#include <sys/resource.h>

#include "instruments.hpp"
#include "platform/node.hpp"
#include "ranked_test.hpp"

using namespace kiviat;
using namespace kiviat::test;

namespace {

// Free bytes of each group, the innermost first.
std::string free_bytes(const FakeRoot& root) {
  std::string text;
  for (const auto& limit : host::group_limits(root.path)) text += std::to_string(limit.free_bytes) + ' ';
  return text;
}

}  // namespace

RANKED_TEST(a_job_of_version_2_may_take_what_its_groups_leave, 1) {
  const FakeRoot root;
  root.write("proc/self/cgroup", "0::/job_7/step_0");
  const std::string job = "sys/fs/cgroup/job_7/", step = job + "step_0/";
  root.write(job + "memory.max", "4000"), root.write(job + "memory.current", "1500");
  root.write(job + "memory.stat", "anon 500\nfile 900\ninactive_file 600\nactive_file 300");
  root.write(step + "memory.max", "max"), root.write(step + "memory.current", "100");
  EXPECT(free_bytes(root) == "3400 ");  // 600 are used by more than file caches
}

RANKED_TEST(a_container_of_version_1_sees_its_group_at_the_top, 1) {
  const FakeRoot root;
  root.write("proc/self/cgroup", "9:cpu,cpuacct:/docker/1\n4:memory:/docker/1\n0::/");
  const std::string top = "sys/fs/cgroup/memory/";
  root.write(top + "memory.limit_in_bytes", "1000"), root.write(top + "memory.usage_in_bytes", "1200");
  EXPECT(free_bytes(root) == "0 ");
  root.write(top + "memory.stat", "inactive_file 5\ntotal_inactive_file 300\ntotal_active_file 100");
  EXPECT(free_bytes(root) == "200 ");
}

RANKED_TEST(without_groups_there_is_no_limit, 1) {
  const FakeRoot root;
  EXPECT(free_bytes(root).empty());
  root.write("proc/self/cgroup", "4:memory:/gone\n3:cpuset:/\nnonsense");
  EXPECT(free_bytes(root).empty());
}

// With ulimit -v, kernels took half of the machine's memory and failed.
RANKED_TEST(the_limit_of_the_address_space_bounds_the_share, 1, 2) {
  rlimit before{};
  getrlimit(RLIMIT_AS, &before);
  EXPECT(host::memory_share_bytes(world.comm) > 1 << 30);
  rlimit narrow = before;
  narrow.rlim_cur = std::size_t{1} << 40;
  setrlimit(RLIMIT_AS, &narrow);
  const std::size_t left = host::address_space_left_bytes();
  narrow.rlim_cur -= left - (1 << 30);
  setrlimit(RLIMIT_AS, &narrow);
  const std::size_t share = host::memory_share_bytes(world.comm);
  setrlimit(RLIMIT_AS, &before);
  EXPECT((share <= 1 << 30 && share > 1 << 29) == true);
}
