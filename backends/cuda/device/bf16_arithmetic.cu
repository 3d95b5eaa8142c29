__device__ __forceinline__ bf16 bf16_add(bf16 a, bf16 b) { return f32_to_bf16(bf16_to_f32(a) + bf16_to_f32(b)); }
__device__ __forceinline__ bf16 bf16_sub(bf16 a, bf16 b) { return f32_to_bf16(bf16_to_f32(a) - bf16_to_f32(b)); }
__device__ __forceinline__ bf16 bf16_mul(bf16 a, bf16 b) { return f32_to_bf16(bf16_to_f32(a) * bf16_to_f32(b)); }
