// barrier_loop
void barrier_loop(sim_warp* w, void* const* args) {
  const sim_api* const sim = w->sim;
  float* const A = *(float* const*)args[0];
  float* const B = *(float* const*)args[1];
  int32_t const n = *(int32_t const*)args[2];
  int32_t block_x = w->block_x;
  const int32_t bx = block_x;
  float* const s = (float*)(w->shared);
  const int32_t tx = 32 * w->warp;
  float acc[32][1];
  for (int lane = 0; lane < 32; ++lane) {
    acc[lane][0] = 0.0f;
  }
  {
    const int32_t end = n;
    for (int32_t k = 0; k < end; ++k) {
      for (int lane = 0; lane < 32; ++lane) {
        const int32_t tx = 32 * w->warp + lane;
        s[tx] = A[k * 64 + tx];
      }
      sim->barrier_sync(w, 0xFFFFFFFFu, 0, 0, 1);
      for (int lane = 0; lane < 32; ++lane) {
        const int32_t tx = 32 * w->warp + lane;
        acc[lane][0] += s[63 - tx];
      }
      sim->barrier_sync(w, 0xFFFFFFFFu, 0, 0, 2);
    }
  }
  for (int lane = 0; lane < 32; ++lane) {
    const int32_t tx = 32 * w->warp + lane;
    B[bx * 64 + tx] = acc[lane][0];
  }
}

