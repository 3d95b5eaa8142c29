// Blocks in panels of `width` rows (columns) of the grid, every other panel backwards.
static inline void swizzle_rows(const sim_warp* w, int width, int32_t* x, int32_t* y) {
  const int block = w->block_x + w->block_y * w->grid_dim_x, blocks = w->grid_dim_x * w->grid_dim_y, size = width * w->grid_dim_x;
  const int panel = block / size, at = block % size, panels = (blocks + size - 1) / size;
  const int rows = panel + 1 < panels ? width : (blocks - panel * size) / w->grid_dim_x;
  *x = panel & 1 ? w->grid_dim_x - 1 - at / rows : at / rows;
  *y = at % rows + panel * width;
}
static inline void swizzle_columns(const sim_warp* w, int width, int32_t* x, int32_t* y) {
  const int block = w->block_x + w->block_y * w->grid_dim_x, blocks = w->grid_dim_x * w->grid_dim_y, size = width * w->grid_dim_y;
  const int panel = block / size, at = block % size, panels = (blocks + size - 1) / size;
  const int columns = panel + 1 < panels ? width : (blocks - panel * size) / w->grid_dim_y;
  *x = at % columns + panel * width;
  *y = panel & 1 ? w->grid_dim_y - 1 - at / columns : at / columns;
}
