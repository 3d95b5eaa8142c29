"""The kernels of the matrix, and what their code says of mutants beyond what operators.py says of all.

A mutant by its operator and line (and part, of several in a line) has the kinds of which one must be found, none for a harmless change,
and the reason.
"""

RACE, BOUNDS, UNINITIALISED = ["race"], ["out_of_bounds"], ["uninitialised"]
HARMLESS = []

NUMBERS = (HARMLESS, "another element that is there and complete: the numbers are wrong, the accesses are right")
NEIGHBOUR = (RACE, "in the same step, the neighbouring thread writes what is read, or reads what is written")
DESCRIPTOR = (HARMLESS, "a matrix descriptor holds no address bits below 16 bytes (PTX ISA, wgmma matrix descriptor)")
OWN = (HARMLESS, "each thread reads and writes its own elements alone")
LATER = (HARMLESS, "the sums and the tiles stay untouched until the second product, whose own group and wait come after both")

KERNELS = {
    "corpus/cuda_sm80/transpose_smem_f32": {},
    "corpus/cuda_sm80/tree_reduce_smem": {
        "off_by_one@33": NEIGHBOUR,
        "off_by_one@33.1": NEIGHBOUR,
        "off_by_one@34": NEIGHBOUR,
        "off_by_one@34.1": NEIGHBOUR,
        "off_by_one@37.1": NUMBERS,
        "off_by_one@38.1": NUMBERS,
        "swapped_buffer@33": NUMBERS,
        "swapped_buffer@34": NUMBERS,
    },
    "corpus/cuda_sm80/softmax_tree_smem": {
        "off_by_one@25": NEIGHBOUR,
        "off_by_one@25.1": NEIGHBOUR,
        "off_by_one@27": NUMBERS,
        "off_by_one@34": NEIGHBOUR,
        "off_by_one@34.1": NEIGHBOUR,
        "off_by_one@36.1": NUMBERS,
    },
    "corpus/cuda_sm80/gemm_simt_f32": {},
    "corpus/cuda_sm80/histogram_shared_atomic": {
        "off_by_one@22": (BOUNDS, "a value of X is 63, the last of 64 bins"),
        "off_by_one@26": (BOUNDS, "thread 63 adds to the last of the 64 elements of H"),
    },
    "corpus/cuda_sm80/cumsum_rows": {
        "off_by_one@22": (BOUNDS, "the scan takes all 1536 elements from its start on"),
        "off_by_one@22.1": (BOUNDS, "the scan stores all 1536 elements from its start on"),
    },
    "corpus/cuda_sm80/gemm_f16_f32": {},
    "corpus/cuda_sm90a/gemm_f16_f32": {
        "off_by_one@57": DESCRIPTOR,
        "off_by_one@60": DESCRIPTOR,
    },
    "corpus/cuda_sm90a/gemm_f16_out16_3stage": {
        "off_by_one@59": DESCRIPTOR,
        "off_by_one@62": DESCRIPTOR,
    },
    "corpus/cuda_sm90a/gemm_f16_sm90_no_ws": {
        "off_by_one@50": DESCRIPTOR,
        "off_by_one@52": DESCRIPTOR,
        "off_by_one@69": DESCRIPTOR,
        "off_by_one@71": DESCRIPTOR,
        "drop_commit@58": LATER,
        "drop_wait@59": LATER,
        "weaker_wait@59": LATER,
        "drop_fence@73": (HARMLESS, "products of one shape add to the same registers in order (PTX ISA, wgmma.fence)"),
        "drop_fence@55": (HARMLESS, "the tiles come by cp.async, whose writes are done at its wait; the second tile has no such fence"),
    },
    "corpus/cuda_sm90a/tma_copy_3d": {},
    "corpus/cuda_sm90a/tma_copy_store": {"drop_barrier@21": OWN},
    "corpus/cuda_sm90a/cluster_rank": {
        "drop_barrier@21": (HARMLESS, "no block reaches the shared memory of another, so it may end before the others"),
    },
    "corpus_tvm/cuda_sm80/transpose_shared": {
        "off_by_one@17": (UNINITIALISED, "column 0 of the tile is not written"),
        "off_by_one@20.1": (UNINITIALISED, "the padding of the tile's rows is read"),
    },
    "corpus_tvm/cuda_sm80/reverse_block_sync": {},
    "corpus_tvm/cuda_sm80/matmul_async_pipeline": {
        "off_by_one@28": (RACE, "the last copy to stage 0 writes the first element of stage 1, as another copy does"),
        "off_by_one@28.1": NUMBERS,
        "off_by_one@29": (RACE, "the last copy to stage 0 writes the first element of stage 1, as another copy does"),
        "off_by_one@29.1": NUMBERS,
        "off_by_one@32": (RACE, "the last copy to stage 1 writes the first element of stage 2, as another copy does"),
        "off_by_one@32.1": NUMBERS,
        "off_by_one@33": (RACE, "the last copy to stage 1 writes the first element of stage 2, as another copy does"),
        "off_by_one@33.1": NUMBERS,
        "off_by_one@45.2": (RACE, "the first element of the next stage is read while it is copied"),
        "off_by_one@45.3": (RACE, "the first element of the next stage is read while it is copied"),
        "off_by_one@55.2": NUMBERS,
        "off_by_one@55.3": NUMBERS,
    },
    "corpus_tvm/cuda_sm80/matmul_f32": {},
    "corpus_tvm/cuda_sm80/wmma_f16": {},
}

# Faults that are not found, or not as what they are.
MISSED = {
    ("corpus/cuda_sm80/histogram_shared_atomic", "off_by_one@26"): "the shape of H is not constant, and its allocation is larger",
    ("corpus_tvm/cuda_sm80/matmul_async_pipeline", "off_by_one@38"): "a race with the array that is hit",
}
