// A CUtensorMap.
struct alignas(64) tensor_map {
  unsigned long long opaque[16];
};
