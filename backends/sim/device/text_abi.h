// What a CUDA text that runs on the host and the simulator know of each other. Included by both; no other header.
//
// A thread of the kernel is a Lane. Calls marked "meets" are made by several lanes of a warp together: a lane that makes one waits until
// all lanes that take part have made it. Shared addresses are 32-bit ones, as cvta.to.shared gives them.
#pragma once

namespace kiln_text {

struct Index {
  unsigned x, y, z;
};

struct Lane;

// A copy of a box between a tensor and shared memory.
struct TensorCopy {
  const void* map;
  unsigned shared, barrier;      // addresses
  int mode;                      // SIM_TILE, ... (sim.h)
  int rank, at[5];               // coordinates, innermost first
  int offset_count, offsets[3];  // im2col
  unsigned blocks;               // multicast: ranks that receive it
  int reduce;                    // 1 + the update, 0: none
};

enum class Shuffle : int { kIdx, kUp, kDown, kXor };
enum class Vote : int { kBallot, kAny, kAll, kUni };
enum class Count : int { kCount, kAnd, kOr };
enum class Update : int { kAdd, kMin, kMax, kAnd, kOr, kXor };

struct Api {
  // Operations of a warp; `members` is the membermask. All meet.
  void (*sync_warp)(Lane*, unsigned members);
  // `value`: in and out, of 4 or 8 bytes. False: the lane keeps its own value, since the source is out of range.
  bool (*shuffle)(Lane*, Shuffle mode, unsigned members, void* value, int bytes, int index, int width);
  unsigned (*vote)(Lane*, Vote mode, unsigned members, bool predicate);
  unsigned (*match_any)(Lane*, unsigned members, unsigned long long value, int bytes);
  unsigned (*match_all)(Lane*, unsigned members, unsigned long long value, int bytes);
  unsigned (*elect)(Lane*, unsigned members);  // the leader
  unsigned (*reduce)(Lane*, Update op, bool is_signed, unsigned members, unsigned value);
  unsigned (*active_mask)(Lane*);

  // Barriers. `threads` 0: all threads of the block.
  void (*barrier_sync)(Lane*, int id, int threads);
  void (*barrier_arrive)(Lane*, int id, int threads);
  int (*barrier_reduce)(Lane*, int id, Count mode, bool predicate);
  void (*cluster_arrive)(Lane*, bool relaxed);
  void (*cluster_wait)(Lane*);

  // Matrix instructions, all meet; `form` is an index into the text's forms. Registers of 32 bits (64 for f64) lie one after the other.
  void (*mma)(Lane*, int form, void* d, const void* a, const void* b, const void* c);
  void (*mma_sparse)(Lane*, int form, void* d, const void* a, const void* b, const void* c, unsigned metadata, int selector);
  void (*ldmatrix)(Lane*, int form, unsigned* d, unsigned row);
  void (*stmatrix)(Lane*, int form, unsigned row, const unsigned* s);
  void (*wmma_load)(Lane*, int form, void* d, const void* from, long long stride);
  void (*wmma_store)(Lane*, int form, void* to, const void* d, long long stride);
  void (*wmma_mma)(Lane*, int form, void* d, const void* a, const void* b, const void* c);
  // `a_registers` null: a is the descriptor `a`. `metadata` is read by sparse forms.
  void (*wgmma)(Lane*, int form, void* d, const unsigned* a_registers, unsigned long long a, unsigned long long b, bool keep,
                unsigned metadata);

  // mbarrier objects, by shared addresses of the cluster.
  void (*mbarrier_init)(Lane*, unsigned barrier, int count);
  void (*mbarrier_inval)(Lane*, unsigned barrier);
  unsigned long long (*mbarrier_arrive)(Lane*, unsigned barrier, int count, bool drop);
  unsigned long long (*mbarrier_arrive_expect_tx)(Lane*, unsigned barrier, int bytes);
  void (*mbarrier_expect_tx)(Lane*, unsigned barrier, int bytes);
  void (*mbarrier_complete_tx)(Lane*, unsigned barrier, int bytes);
  bool (*mbarrier_try_wait)(Lane*, unsigned barrier, unsigned long long phase, bool parity);  // lets other threads run

  // Asynchronous copies; a wait leaves the newest `pending` groups, all for -1.
  void (*cp_async)(Lane*, unsigned to, const void* from, int bytes, int valid);
  void (*cp_async_commit)(Lane*);
  void (*cp_async_wait)(Lane*, int pending);
  void (*cp_async_arrive)(Lane*, unsigned barrier, bool noinc);
  void (*bulk_load)(Lane*, unsigned to, const void* from, int bytes, unsigned barrier, unsigned blocks);
  void (*bulk_store)(Lane*, void* to, unsigned from, int bytes);
  void (*bulk_clear)(Lane*, unsigned to, long long bytes);
  void (*tensor_load)(Lane*, const TensorCopy*);
  void (*tensor_store)(Lane*, const TensorCopy*);
  void (*bulk_commit)(Lane*);
  void (*bulk_wait)(Lane*, int pending, bool read);

  void (*set_max_registers)(Lane*, int count, bool increase);  // meets
  void (*spin)(Lane*);                                         // lets other threads run
  void (*trap)(Lane*);                                         // does not return
  unsigned long long (*clock)(Lane*);

  // Small float formats by PTX's name, "e4m3": round to nearest even, to the largest finite value beyond it.
  unsigned (*encode)(const char* format, float);
  float (*decode)(const char* format, unsigned);
};

struct Lane {
  const Api* api;
  Index thread, block, block_dim, grid_dim, cluster_dim;
  int lane, warp;
  unsigned cluster_rank;
  unsigned dynamic_offset, shared_bytes;  // of dynamic shared memory in the block's; of all
  char *shared, *cluster_shared;
  unsigned long long grid_workspace;  // of a cooperative launch: 16 bytes, zero at first; else 0
};

// Runs the threads of a warp, each on a stack of its own. `warp` is a sim_warp; `current` is where the text looks for the thread that runs.
using Body = void (*)(void* const* args);
using Run = void (*)(void* warp, Body body, void* const* args, Lane** current, unsigned static_shared_bytes);

}  // namespace kiln_text
