// Keeps the compiler from moving accesses of registers that a running wgmma uses.
template <class T>
__device__ __forceinline__ void fence_registers(T* registers, int count) {
  unsigned* words = (unsigned*)registers;
#pragma unroll
  for (int i = 0; i < count; ++i) asm volatile("" : "+r"(words[i])::"memory");
}
__device__ __forceinline__ void fence_registers(float* registers, int count) {
#pragma unroll
  for (int i = 0; i < count; ++i) asm volatile("" : "+f"(registers[i])::"memory");
}
