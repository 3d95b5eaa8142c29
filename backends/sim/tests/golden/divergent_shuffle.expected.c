// divergent_shuffle
void divergent_shuffle(sim_warp* w, void* const* args) {
  const sim_api* const sim = w->sim;
  int32_t* const A = *(int32_t* const*)args[0];
  int32_t* const B = *(int32_t* const*)args[1];
  const int32_t tx = 32 * w->warp;
  int32_t x[32];
  for (int lane = 0; lane < 32; ++lane) {
    const int32_t tx = 32 * w->warp + lane;
    x[lane] = A[tx] * 2;
  }
  sim_mask taken = 0;
  for (int lane = 0; lane < 32; ++lane) {
    taken |= (sim_mask)(x[lane] < 40) << lane;
  }
  sim_mask others = ~taken;
  if (taken) {
    const uint32_t result = taken;
    int32_t result_1[32];
    {
      int32_t value[32];
      int32_t source[32];
      for (sim_mask rest = taken; rest; rest &= rest - 1) {
        const int lane = __builtin_ctz(rest);
        value[lane] = x[lane];
        source[lane] = 1;
      }
      sim->shuffle(w, taken, SIM_SHFL_XOR, result, result_1, value, 4, source, 32, 1);
    }
    for (sim_mask rest = taken; rest; rest &= rest - 1) {
      const int lane = __builtin_ctz(rest);
      const int32_t tx = 32 * w->warp + lane;
      B[tx] = result_1[lane] + 1;
    }
  }
  if (others) {
    for (sim_mask rest = others; rest; rest &= rest - 1) {
      const int lane = __builtin_ctz(rest);
      const int32_t tx = 32 * w->warp + lane;
      B[tx] = x[lane];
    }
  }
  for (int lane = 0; lane < 32; ++lane) {
    const int32_t tx = 32 * w->warp + lane;
    if (tx < 32) {
      B[tx] += 1000;
    }
  }
}

