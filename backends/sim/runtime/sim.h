/* What generated code sees of the simulator: C99, no other header than <stdint.h>.

   A kernel is called once for each warp of the grid, on a fiber of its own. Code without collectives runs lane by lane; `mask` arguments
   say which lanes execute an operation (bit l is lane l). Operations of a lane (`int lane`) may be called anywhere, never block, and may be
   called in loops over lanes. Operations of a warp (`sim_mask mask`) must be called outside of such loops; those marked "blocks" may run
   other warps before they return. Arguments of a warp's operation are the same for all its lanes unless they are arrays of 32; where they
   differ between lanes, the operation is called once for each set of lanes that agree.

   `site` is the place of the operation: an index into the table that came with the kernel; 0 is no place.
   Pointers are the host's. Shared memory of a cluster is one range of addresses: that of the block of rank r begins at
   cluster_shared + (r << SIM_RANK_SHIFT), so that a 32-bit shared address (as cvta.to.shared and mapa give it) is the distance from
   cluster_shared. Without clusters it is the offset in the block's own memory. */
#ifndef KILN_SIM_H
#define KILN_SIM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef uint32_t sim_mask;
typedef struct sim_warp sim_warp;
typedef struct sim_api sim_api;

#define SIM_RANK_SHIFT 24

/* Kinds of access. */
enum { SIM_READ = 1, SIM_WRITE = 2, SIM_ATOMIC = 4 };
/* Element types. The names with 2 or 4 are vectors, whose elements are updated one by one. */
enum {
  SIM_S32,
  SIM_U32,
  SIM_S64,
  SIM_U64,
  SIM_F32,
  SIM_F64,
  SIM_F16,
  SIM_BF16,
  SIM_F16X2,
  SIM_BF16X2,
  SIM_F32X2,
  SIM_F32X4,
  SIM_B16,
  SIM_B32,
  SIM_B64,
  SIM_B128,
  SIM_S16
};
/* Updates of memory and reductions. INC and DEC wrap at the operand (PTX ISA 9.7.13.6, atom). */
enum { SIM_ADD, SIM_MIN, SIM_MAX, SIM_AND, SIM_OR, SIM_XOR, SIM_INC, SIM_DEC, SIM_EXCH, SIM_CAS, SIM_LOAD, SIM_STORE };
/* Memory orders and scopes. */
enum { SIM_RELAXED, SIM_ACQUIRE, SIM_RELEASE, SIM_ACQ_REL, SIM_SEQ_CST };
enum { SIM_SCOPE_CTA, SIM_SCOPE_CLUSTER, SIM_SCOPE_GPU, SIM_SCOPE_SYS };
/* Modes of operations. */
enum { SIM_SHFL_IDX, SIM_SHFL_UP, SIM_SHFL_DOWN, SIM_SHFL_XOR };
enum { SIM_VOTE_BALLOT, SIM_VOTE_ANY, SIM_VOTE_ALL, SIM_VOTE_UNI };
enum { SIM_BAR_COUNT, SIM_BAR_AND, SIM_BAR_OR };
enum { SIM_FENCE_THREAD, SIM_FENCE_PROXY_ASYNC, SIM_FENCE_MBARRIER_INIT, SIM_FENCE_PROXY_TENSORMAP };
enum { SIM_TILE, SIM_IM2COL, SIM_GATHER4, SIM_SCATTER4 };
/* What a value of sim_api.print is. */
enum { SIM_VALUE_INT, SIM_VALUE_UINT, SIM_VALUE_FLOAT, SIM_VALUE_POINTER, SIM_VALUE_TEXT };
typedef struct {
  int kind;
  union {
    int64_t i;
    uint64_t u;
    double f;
    const void* p; /* SIM_VALUE_TEXT: a zero-terminated text */
  } as;
} sim_value;

/* A lane's first element for each lane: elements of a lane are contiguous. */
typedef struct {
  void* at[32];
} sim_lanes;

/* What a tcgen05.mma takes: d = a * b + (keep ? d : 0). */
typedef struct {
  uint64_t a, b;             /* descriptors; a may be an address in tensor memory */
  uint32_t d;                /* address in tensor memory */
  uint32_t instruction;      /* descriptor */
  uint32_t scale_a, scale_b; /* addresses of block scales */
  int32_t a_in_tensor_memory, keep, scale_d;
  uint32_t disabled[8]; /* lanes that keep their value: bit i of word k is lane 32 k + i, of a pair's even block first */
} sim_tcgen05_mma;

/* A copy of a box between a tensor in global memory and shared memory (cp.async.bulk.tensor, PTX ISA 9.7.9.27). */
typedef struct {
  const void* map;    /* 128 bytes, as the device "sim" encodes tensor maps */
  void* shared;       /* of a block of this cluster */
  void* barrier;      /* loads: the mbarrier that counts the bytes */
  int32_t mode;       /* SIM_TILE, ... */
  int32_t at[5];      /* coordinates, innermost first; gather4 and scatter4: a column and four rows */
  int32_t offsets[3]; /* im2col */
  int32_t blocks; /* loads: ranks that receive the box (multicast), 0: that of `shared` only. Each at the same offset, with its barrier */
  int32_t reduce; /* stores: 1 + SIM_ADD, ...; 0: none */
} sim_tensor_copy;

/* One warp, as its generated code sees it. The numbers of a launch are int32, as thread indices of lowered programs are. */
struct sim_warp {
  const sim_api* sim;
  sim_mask lanes; /* that exist: the last warp of a block may have fewer than 32 */
  sim_mask live;  /* that have not exited. Generated code clears the bits of those that do */
  int32_t warp;   /* its index in the block; lane l is thread 32 * warp + l */
  int32_t thread_x[32], thread_y[32], thread_z[32];
  int32_t block_x, block_y, block_z; /* index of the block in the grid */
  int32_t block_dim_x, block_dim_y, block_dim_z;
  int32_t grid_dim_x, grid_dim_y, grid_dim_z;          /* blocks */
  int32_t cluster_dim_x, cluster_dim_y, cluster_dim_z; /* blocks; 1 without clusters */
  int32_t cluster_rank;                                /* of this block */
  char* shared;                                        /* this block's shared memory */
  char* cluster_shared;                                /* of the block of rank 0 */
  uint32_t shared_bytes;                               /* static and dynamic */
  const void* const* forms;                            /* what the kernel's matrix instructions are, decoded; indexed by generated code */
};

/* `args` points to the value of each parameter: a pointer, a scalar, or the 128 bytes of a tensor map. */
typedef void (*sim_kernel)(sim_warp* w, void* const* args);

struct sim_api {
  /* Barriers of a block (bar, barrier). `id` 0..15; `threads` is the number that takes part, 0: all of the block that have not exited. */
  void (*barrier_sync)(sim_warp*, sim_mask, int32_t id, int32_t threads, int32_t site); /* blocks. __syncthreads() is 0, 0 */
  void (*barrier_arrive)(sim_warp*, sim_mask, int32_t id, int32_t threads, int32_t site);
  /* __syncthreads_count, _and, _or; blocks. `predicates` has a bit for each lane. */
  int32_t (*barrier_reduce)(sim_warp*, sim_mask, int32_t id, int32_t threads, int mode, sim_mask predicates, int32_t site);
  void (*sync_warp)(sim_warp*, sim_mask, sim_mask members, int32_t site);
  void (*cluster_arrive)(sim_warp*, sim_mask, int order, int32_t site);
  void (*cluster_wait)(sim_warp*, sim_mask, int32_t site); /* blocks */
  void (*grid_sync)(sim_warp*, sim_mask, int32_t site);    /* blocks; for launches that are cooperative */
  void (*fence)(sim_warp*, sim_mask, int kind, int scope, int32_t site);

  /* Operations of a warp on a register of each lane. Arrays have an element of `bytes` (1, 2, 4, 8, 16) for each of 32 lanes; `out` may be
     `in`. `members` is the instruction's membermask. */
  void (*shuffle)(sim_warp*, sim_mask, int mode, sim_mask members, void* out, const void* in, int bytes, const int32_t* lane, int32_t width,
                  int32_t site);
  sim_mask (*vote)(sim_warp*, sim_mask, int mode, sim_mask members, sim_mask predicates, int32_t site); /* any, all, uni: 0 or 1 */
  void (*match_any)(sim_warp*, sim_mask, sim_mask members, sim_mask* out, const void* in, int bytes, int32_t site);
  sim_mask (*match_all)(sim_warp*, sim_mask, sim_mask members, const void* in, int bytes, int32_t site); /* `members` or 0 */
  sim_mask (*elect)(sim_warp*, sim_mask, sim_mask members, int32_t site);                                /* one bit: the leader's */
  void (*reduce)(sim_warp*, sim_mask, int op, int dtype, sim_mask members, void* out, const void* in, int32_t site); /* redux.sync */

  /* mbarrier objects: 8 bytes in shared memory of this block or another of its cluster. States are the phase that an arrival belonged to.
   */
  void (*mbarrier_init)(sim_warp*, int lane, void* barrier, int32_t count, int32_t site);
  void (*mbarrier_inval)(sim_warp*, int lane, void* barrier, int32_t site);
  uint64_t (*mbarrier_arrive)(sim_warp*, int lane, void* barrier, int32_t count, int32_t site);
  uint64_t (*mbarrier_arrive_drop)(sim_warp*, int lane, void* barrier, int32_t count, int32_t site);
  uint64_t (*mbarrier_arrive_expect_tx)(sim_warp*, int lane, void* barrier, int32_t bytes, int32_t site);
  void (*mbarrier_expect_tx)(sim_warp*, int lane, void* barrier, int32_t bytes, int32_t site);
  void (*mbarrier_complete_tx)(sim_warp*, int lane, void* barrier, int32_t bytes, int32_t site);
  int32_t (*mbarrier_test)(sim_warp*, sim_mask, void* barrier, uint64_t state, int32_t site);        /* may run other warps if not */
  int32_t (*mbarrier_test_parity)(sim_warp*, sim_mask, void* barrier, int32_t parity, int32_t site); /* may run other warps if not */
  void (*mbarrier_wait)(sim_warp*, sim_mask, void* barrier, uint64_t state, int32_t site);           /* blocks */
  void (*mbarrier_wait_parity)(sim_warp*, sim_mask, void* barrier, int32_t parity, int32_t site);    /* blocks */

  /* cp.async: `bytes` 4, 8 or 16, of which the first `valid` are read and the rest are zero. Groups are each lane's own. */
  void (*cp_async)(sim_warp*, int lane, void* to, const void* from, int32_t bytes, int32_t valid, int32_t site);
  void (*cp_async_commit)(sim_warp*, sim_mask, int32_t site);
  void (*cp_async_wait)(sim_warp*, sim_mask, int32_t pending, int32_t site); /* leaves the newest `pending` groups; -1: cp.async.wait_all */
  void (*cp_async_arrive)(sim_warp*, int lane, void* barrier, int32_t noinc, int32_t site); /* cp.async.mbarrier.arrive */

  /* cp.async.bulk. Loads (to shared memory, from global memory or from shared memory of the cluster) complete the bytes of a barrier that
     lies with their destination; `blocks` as in sim_tensor_copy. Stores to global memory go in the lane's bulk groups. */
  void (*bulk_load)(sim_warp*, int lane, void* to, const void* from, int32_t bytes, void* barrier, int32_t blocks, int32_t site);
  void (*bulk_store)(sim_warp*, int lane, void* to, const void* from, int32_t bytes, int32_t site);
  /* cp.reduce.async.bulk: to shared memory of the cluster with a barrier, to global memory with null. */
  void (*bulk_reduce)(sim_warp*, int lane, int op, int dtype, void* to, const void* from, int32_t bytes, void* barrier, int32_t site);
  void (*tensor_load)(sim_warp*, int lane, const sim_tensor_copy* copy, int32_t site);
  void (*tensor_store)(sim_warp*, int lane, const sim_tensor_copy* copy, int32_t site);
  void (*bulk_commit)(sim_warp*, sim_mask, int32_t site);
  void (*bulk_wait)(sim_warp*, sim_mask, int32_t pending, int32_t read, int32_t site); /* read: .read, until the sources were read */
  /* st.async and red.async (op other than SIM_STORE) to shared memory of the cluster; the barrier lies there too. */
  void (*store_async)(sim_warp*, int lane, int op, int dtype, void* to, const void* value, void* barrier, int32_t site);
  void (*bulk_zero)(sim_warp*, int lane, void* to, int64_t bytes, int32_t site);                        /* st.bulk */
  void (*try_cancel)(sim_warp*, int lane, void* response, void* barrier, int32_t blocks, int32_t site); /* always finds no other block */

  /* Atomics on global or shared memory: `operand`, `compare` (SIM_CAS) and `old` (may be null) point to values of `dtype`. Loads and
     stores that are volatile or have an order go this way too, so that one who spins lets others run. */
  void (*atomic)(sim_warp*, int lane, int op, int dtype, void* target, const void* operand, const void* compare, void* old, int order,
                 int scope, int32_t site);

  /* The end of a kernel by its own wish, and what it says. */
  void (*trap)(sim_warp*, int lane, int32_t site);                                                /* does not return */
  void (*fail)(sim_warp*, int lane, const char* message, int32_t site);                           /* assert; does not return */
  void (*print)(sim_warp*, int lane, const char* format, const sim_value* values, int32_t count); /* printf */
  void (*sleep)(sim_warp*, sim_mask, uint32_t nanoseconds, int32_t site);                         /* lets other warps run */
  uint64_t (*clock)(sim_warp*); /* grows; the same in each run of the same seed */
  void (*set_max_registers)(sim_warp*, sim_mask, int32_t count, int32_t increase, int32_t site); /* checked, no effect */

  /* wgmma groups; what is issued between commits runs in order, at the latest at the wait that needs it. */
  void (*wgmma_fence)(sim_warp*, sim_mask, int32_t site);
  void (*wgmma_commit)(sim_warp*, sim_mask, int32_t site);
  void (*wgmma_wait)(sim_warp*, sim_mask, int32_t pending, int32_t site);
  void (*tcgen05_commit)(sim_warp*, int lane, void* barrier, int32_t blocks,
                         int32_t site);                    /* arrives when the lane's tcgen05 work is done */
  void (*tcgen05_wait)(sim_warp*, sim_mask, int32_t site); /* tcgen05.wait::ld and ::st */

  /* Tensor memory. An address has the lane in its upper, the column in its lower half. `form` is one of w->forms, of the mnemonic. Loads
     and stores of a warp are done at once; what one lane begins (cp, shift, mma) is done later, in the order of its issue. */
  void (*tcgen05_alloc)(sim_warp*, sim_mask, uint32_t* address, int32_t columns, int32_t site); /* blocks until there is room */
  void (*tcgen05_dealloc)(sim_warp*, sim_mask, uint32_t address, int32_t columns, int32_t site);
  void (*tcgen05_relinquish)(sim_warp*, sim_mask, int32_t site); /* relinquish_alloc_permit */
  void (*tcgen05_move)(sim_warp*, sim_mask, const void* form, uint32_t address, const sim_lanes* r, int32_t site); /* ld and st */
  void (*tcgen05_cp)(sim_warp*, int lane, const void* form, uint32_t address, uint64_t descriptor, int32_t site);
  void (*tcgen05_shift)(sim_warp*, int lane, uint32_t address, int32_t pair, int32_t site);
  void (*tcgen05_mma)(sim_warp*, int lane, const void* form, const sim_tcgen05_mma* operands, int32_t site);

  /* Checked mode only, for accesses to element `index` of `bytes` at `base`, of which the buffer has `extent` (0: not known). Each returns
     where the access is to go: a harmless place when it was a fault. What is written is computed before, and written right after. */
  void* (*access)(sim_warp*, int lane, const void* base, int64_t index, int64_t extent, int32_t bytes, int kind, int32_t site);
  /* The same for an array of one lane's own, of which reads find what nothing has written since `undefine`. */
  void* (*local)(sim_warp*, int lane, const void* base, int64_t index, int64_t extent, int32_t bytes, int kind, int32_t site);
  void (*undefine)(void* array, int64_t bytes);

  /* Matrix instructions; `form` is one of w->forms. */
  void (*mma)(sim_warp*, sim_mask, const void* form, const sim_lanes* d, const sim_lanes* a, const sim_lanes* b, const sim_lanes* c,
              int32_t site);
  void (*mma_sparse)(sim_warp*, sim_mask, const void* form, const sim_lanes* d, const sim_lanes* a, const sim_lanes* b, const sim_lanes* c,
                     const sim_lanes* metadata, int32_t selector, int32_t site);
  void (*ldmatrix)(sim_warp*, sim_mask, const void* form, const sim_lanes* d, const sim_lanes* from, int32_t site);
  void (*stmatrix)(sim_warp*, sim_mask, const void* form, const sim_lanes* to, const sim_lanes* s, int32_t site);
  /* Of a warp group's warp. `registers`: of a, null where it is in shared memory; `metadata`: null where a is dense. The registers of d are
     written later, at the latest by the wait for the group. */
  void (*wgmma)(sim_warp*, sim_mask, const void* form, const sim_lanes* d, const sim_lanes* registers, uint64_t a, uint64_t b, int32_t keep,
                const sim_lanes* metadata, int32_t site);
  /* With block scales: a register of each lane for those of a and of b, and which byte and thread of it is used. */
  void (*mma_scaled)(sim_warp*, sim_mask, const void* form, const sim_lanes* d, const sim_lanes* a, const sim_lanes* b, const sim_lanes* c,
                     const sim_lanes* scale_a, int32_t byte_a, int32_t thread_a, const sim_lanes* scale_b, int32_t byte_b, int32_t thread_b,
                     int32_t site);
  /* Fragments; `stride` is in elements, from line to line. */
  void (*wmma_load)(sim_warp*, sim_mask, const void* form, const sim_lanes* r, const void* from, int64_t stride, int32_t site);
  void (*wmma_store)(sim_warp*, sim_mask, const void* form, void* to, const sim_lanes* r, int64_t stride, int32_t site);
  void (*wmma_mma)(sim_warp*, sim_mask, const void* form, const sim_lanes* d, const sim_lanes* a, const sim_lanes* b, const sim_lanes* c,
                   int32_t site);
};

/* Addresses. */
static inline uint32_t sim_shared_address(const sim_warp* w, const void* p) { return (uint32_t)((const char*)p - w->cluster_shared); }
static inline void* sim_shared_pointer(const sim_warp* w, uint32_t address) { return w->cluster_shared + address; }
/* mapa: the same place in the memory of another block of the cluster. */
static inline void* sim_map_shared(const sim_warp* w, const void* p, uint32_t rank) {
  return w->cluster_shared + ((sim_shared_address(w, p) & ((1u << SIM_RANK_SHIFT) - 1)) | rank << SIM_RANK_SHIFT);
}

#ifdef __cplusplus
}
#endif

#endif
