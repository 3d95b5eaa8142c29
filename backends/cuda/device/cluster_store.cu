// Stores to the same place in the shared memory of block `block` of the cluster.
template <class T, class V>
__device__ __forceinline__ void cluster_store(T* place, V value, int block) {
  T* remote;
  asm volatile("mapa.u64 %0, %1, %2;" : "=l"(remote) : "l"(place), "r"(block));
  *(volatile T*)remote = value;
}
