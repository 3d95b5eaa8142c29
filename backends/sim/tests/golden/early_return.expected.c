// early_return
void early_return(sim_warp* w, void* const* args) {
  const sim_api* const sim = w->sim;
  int32_t* const A = *(int32_t* const*)args[0];
  int32_t* const B = *(int32_t* const*)args[1];
  int32_t const n = *(int32_t const*)args[2];
  sim_mask active = w->lanes;
  int32_t* const s = (int32_t*)(w->shared);
  const int32_t tx = 32 * w->warp;
  for (sim_mask rest = active; rest; rest &= rest - 1) {
    const int lane = __builtin_ctz(rest);
    const int32_t tx = 32 * w->warp + lane;
    s[tx] = A[tx];
  }
  sim_mask taken = 0;
  for (sim_mask rest = active; rest; rest &= rest - 1) {
    const int lane = __builtin_ctz(rest);
    const int32_t tx = 32 * w->warp + lane;
    taken |= (sim_mask)(tx >= n) << lane;
  }
  if (taken) {
    w->live &= ~taken;
  }
  active &= w->live;
  if (active) {
    sim->barrier_sync(w, active, 0, 0, 1);
    for (sim_mask rest = active; rest; rest &= rest - 1) {
      const int lane = __builtin_ctz(rest);
      const int32_t tx = 32 * w->warp + lane;
      B[tx] = s[n - 1 - tx];
    }
  }
}

