// Sets bytes of shared memory to zero.
__device__ __forceinline__ void bulk_clear(void* to, long long bytes) {
  asm volatile("st.bulk.weak.shared::cta [%0], %1, 0;" ::"l"(__cvta_generic_to_shared(to)), "l"(bytes) : "memory");
}
