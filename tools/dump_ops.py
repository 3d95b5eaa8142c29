#!/usr/bin/env python3
"""Writes src/ir/ops.def from the operators that TileLang and Apache TVM register.

    dump_ops.py list                     in a venv with TileLang or apache-tvm: prints "name args effect location" lines
    dump_ops.py merge FILE... > ops.def  merges such lists

The result rule cannot be asked for: the compilers keep it in Python wrappers. It comes from `RULES` below, by name.
"""
import sys

EFFECT = {0: "kPure", 1: "kPure", 2: "kRead", 3: "kUpdate", 4: "kUpdate", 5: "kUpdate", 6: "kControl"}
LOCATION = {1: "kExplicitFirst", 2: "kExplicitLast"}
MATH = (
    "abs acos acosh asin asinh atan atan2 atanh bitwise_and bitwise_not bitwise_or bitwise_xor ceil clz copysign cos cosh erf exp exp10 "
    "exp2 fabs floor fma fmod hypot ldexp log log10 log1p log2 nearbyint nextafter popcount pow q_multiply_shift rint round rsqrt "
    "shift_left shift_right sigmoid sin sinh sqrt tan tanh trunc likely add2 sub2 mul2 fma2 max2 min2 abs2 "
    "__exp __exp10 __log __log2 __log10 __tan __cos __sin __pow ieee_add ieee_sub ieee_mul ieee_fmaf ieee_frcp ieee_fsqrt ieee_frsqrt "
    "ieee_fdiv warp_reduce_sum warp_reduce_max warp_reduce_min warp_reduce_bitand warp_reduce_bitor min max rng_init "
    "simd_shuffle simd_shuffle_up simd_shuffle_down").split()
SECOND = "if_then_else shfl_sync shfl_xor_sync shfl_down_sync shfl_up_sync __shfl_sync __shfl_xor_sync __shfl_down_sync __shfl_up_sync".split()
BOOL = "isnan isinf isfinite isnullptr tl_shuffle_elect any_sync all_sync".split()
INT32 = "tvm_storage_sync block_rank_in_cluster get_warp_idx get_lane_idx get_warp_group_idx TVMBackendFreeWorkspace ret tvm_throw_last_error tvm_stack_shape".split()
UINT32 = "__activemask activemask ballot_sync ballot match_any_sync match_all_sync".split()
VOID = ("cluster_arrive cluster_arrive_relaxed cluster_wait cluster_sync break_loop continue_loop tvm_fill_fragment tvm_load_matrix_sync "
        "tvm_mma_sync tvm_bmma_sync tvm_store_matrix_sync").split()


def rule(name, location):
    if location in LOCATION:
        return LOCATION[location]
    short = name.rsplit(".", 1)[-1]
    for names, result in ((MATH, "kFirstArg"), (SECOND, "kSecondArg"), (BOOL, "kBool"), (INT32, "kInt32"), (UINT32, "kUInt32"), (VOID, "kVoid")):
        if short in names:
            return result
    return "kHandle"


def list_ops():
    import tvm

    try:
        import tilelang  # noqa: F401  (registers tl.*)
    except ImportError:
        pass
    for name in sorted(tvm.ir.Op.list_op_names()):
        if not name.startswith(("tirx.", "tl.", "prim.")):
            continue
        op = tvm.ir.Op.get(name)
        values = [op.get_attr(key) for key in ("TCallEffectKind", "TScriptDtypePrintLocation")]
        print(name, op.num_inputs, *(v if v is None else int(v) for v in values))


def merge(files):
    ops = {}
    for path in files:
        for line in open(path):
            name, args, effect, location = line.split()[:4]
            if name.startswith("te."):
                continue
            if name.startswith("prim."):  # Apache TVM 0.27 moved these; the canonical name stays tirx.*
                name = "tirx." + name[5:]
            old = ops.get(name)
            row = (int(args), None if effect == "None" else int(effect), None if location == "None" else int(location))
            ops[name] = tuple(a if a is not None else b for a, b in zip(row, old)) if old else row
            if old and old[0] != row[0]:
                ops[name] = (-1,) + ops[name][1:]
    # The registered counts are not always what the compilers themselves make.
    for name, (_, effect, location) in ops.items():
        if name.startswith("tl.") and rule(name, location) != "kFirstArg":
            ops[name] = (-1, effect, location)
    ops["tirx.fmod"] = (2,) + ops["tirx.fmod"][1:]
    print("// Operators of TileLang 0.1.15 and Apache TVM 0.27, written by tools/dump_ops.py; edit that script, not this file.")
    print("// KILN_OP(enumerator, name, number of arguments (-1: any), result rule, effect)")
    for name in sorted(ops):
        args, effect, location = ops[name]
        dialect, rest = name.split(".", 1)
        ident = f"{dialect}_{rest.replace('.', '__')}"  # tirx.ptx.mma and tirx.ptx_mma both exist
        print(f'KILN_OP({ident}, "{name}", {args}, {rule(name, location)}, {EFFECT.get(effect, "kUpdate")})')


if __name__ == "__main__":
    if sys.argv[1:2] == ["list"]:
        list_ops()
    elif sys.argv[1:2] == ["merge"]:
        merge(sys.argv[2:])
    else:
        sys.exit(__doc__)
