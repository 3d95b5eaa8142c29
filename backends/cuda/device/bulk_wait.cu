// Waits until at most `groups` groups of bulk stores are under way: with `read`, have yet to read shared memory.
template <int groups, bool read>
__device__ __forceinline__ void bulk_wait() {
  if constexpr (read) {
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(groups) : "memory");
  } else {
    asm volatile("cp.async.bulk.wait_group %0;" ::"n"(groups) : "memory");
  }
}
