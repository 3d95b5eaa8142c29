// Blocks in panels of `width` rows of the grid, every other panel backwards: neighbours in time share more of the L2 cache.
template <int width>
__device__ __forceinline__ dim3 swizzled_block_rows() {
  unsigned block = blockIdx.x + blockIdx.y * gridDim.x, blocks = gridDim.x * gridDim.y, size = width * gridDim.x;
  unsigned panel = block / size, at = block % size, panels = (blocks + size - 1) / size;
  unsigned rows = panel + 1 < panels ? width : (blocks - panel * size) / gridDim.x;
  unsigned column = panel & 1 ? gridDim.x - 1 - at / rows : at / rows;
  return dim3(column, at % rows + panel * width, blockIdx.z);
}
template <int width>
__device__ __forceinline__ dim3 swizzled_block_columns() {
  unsigned block = blockIdx.x + blockIdx.y * gridDim.x, blocks = gridDim.x * gridDim.y, size = width * gridDim.y;
  unsigned panel = block / size, at = block % size, panels = (blocks + size - 1) / size;
  unsigned columns = panel + 1 < panels ? width : (blocks - panel * size) / gridDim.y;
  unsigned row = panel & 1 ? gridDim.y - 1 - at / columns : at / columns;
  return dim3(at % columns + panel * width, row, blockIdx.z);
}
