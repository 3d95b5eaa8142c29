// varying_loop
void varying_loop(sim_warp* w, void* const* args) {
  const sim_api* const sim = w->sim;
  int32_t* const A = *(int32_t* const*)args[0];
  int32_t* const B = *(int32_t* const*)args[1];
  const int32_t tx = 32 * w->warp;
  int32_t sum[32][1];
  for (int lane = 0; lane < 32; ++lane) {
    sum[lane][0] = 0;
  }
  {
    int32_t i[32];
    int32_t end[32];
    for (int lane = 0; lane < 32; ++lane) {
      const int32_t tx = 32 * w->warp + lane;
      i[lane] = 0;
      end[lane] = i[lane] + A[tx];
    }
    sim_mask loop = 0xFFFFFFFFu;
    for (;;) {
      sim_mask turn = 0;
      for (sim_mask rest = loop; rest; rest &= rest - 1) {
        const int lane = __builtin_ctz(rest);
        turn |= (sim_mask)(i[lane] < end[lane]) << lane;
      }
      loop = turn;
      if (!loop) break;
      sim_mask taken = 0;
      for (sim_mask rest = turn; rest; rest &= rest - 1) {
        const int lane = __builtin_ctz(rest);
        const int32_t tx = 32 * w->warp + lane;
        taken |= (sim_mask)(i[lane] == tx) << lane;
      }
      if (taken) {
        turn &= ~taken;
      }
      if (turn) {
        sim_mask taken_1 = 0;
        for (sim_mask rest = turn; rest; rest &= rest - 1) {
          const int lane = __builtin_ctz(rest);
          taken_1 |= (sim_mask)(i[lane] == 20) << lane;
        }
        if (taken_1) {
          loop &= ~taken_1;
          turn &= ~taken_1;
        }
        if (turn) {
          const uint32_t result = turn;
          int32_t result_1[32];
          {
            int32_t value[32];
            int32_t source[32];
            for (sim_mask rest = turn; rest; rest &= rest - 1) {
              const int lane = __builtin_ctz(rest);
              value[lane] = i[lane];
              source[lane] = 0;
            }
            sim->shuffle(w, turn, SIM_SHFL_XOR, result, result_1, value, 4, source, 32, 1);
          }
          for (sim_mask rest = turn; rest; rest &= rest - 1) {
            const int lane = __builtin_ctz(rest);
            sum[lane][0] += result_1[lane];
          }
        }
      }
      for (sim_mask rest = loop; rest; rest &= rest - 1) {
        const int lane = __builtin_ctz(rest);
        i[lane] += 1;
      }
    }
  }
  for (int lane = 0; lane < 32; ++lane) {
    const int32_t tx = 32 * w->warp + lane;
    B[tx] = sum[lane][0];
  }
}

