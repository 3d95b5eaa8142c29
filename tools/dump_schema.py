#!/usr/bin/env python3
"""Writes src/import/tvm_schema.def: the fields of every node type that a saved module may hold, for both TVM dialects.

TVM's saved JSON is not self-describing: an integer in a field is either a value or the index of a node, which only the field's static type
tells. This script reads the static types from the reflection tables of an installed compiler.

    python tools/dump_schema.py dump > a.json       # once in an environment with Apache TVM 0.27, once in one with TileLang's TVM
    python tools/dump_schema.py merge tilelang.json tvm.json > src/import/tvm_schema.def
"""
import json
import sys

# The nodes that the importer decodes. Others may occur in a file; they are kept undecoded and are an error only where they are used.
TYPES = """
ir.IRModule ir.DictAttrs ir.GlobalVar ir.Span ir.PrimType ir.PointerType ir.TupleType ir.Range ir.IntImm ir.FloatImm ir.Var ir.Call
ir.StringImm ir.StringType ir.TensorLoad
prim.Add prim.Sub prim.Mul prim.Div prim.Mod prim.FloorDiv prim.FloorMod prim.Min prim.Max prim.EQ prim.NE prim.LT prim.LE prim.GT prim.GE
prim.And prim.Or prim.Not prim.BitwiseAnd prim.BitwiseOr prim.BitwiseXor prim.BitwiseNot prim.LShift prim.RShift
prim.Cast prim.Select prim.Ramp prim.Broadcast prim.Shuffle prim.Let
tirx.Var tirx.SizeVar tirx.Add tirx.Sub tirx.Mul tirx.Div tirx.Mod tirx.FloorDiv tirx.FloorMod tirx.Min tirx.Max tirx.EQ tirx.NE tirx.LT
tirx.LE tirx.GT tirx.GE tirx.And tirx.Or tirx.Not tirx.Cast tirx.Select tirx.Ramp tirx.Broadcast tirx.Shuffle tirx.Let tirx.Call
tirx.StringImm tirx.BufferLoad tirx.Buffer tirx.BufferType tirx.IterVar tirx.CallFFIKernelAttr
tirx.SeqStmt tirx.For tirx.While tirx.IfThenElse tirx.Bind tirx.AllocBuffer tirx.DeclBuffer tirx.BufferStore tirx.Evaluate tirx.AttrStmt
tirx.AssertStmt tirx.Return tirx.Break tirx.Continue tirx.PrimFunc target.Target
""".split()
INLINE = {"int", "bool", "float", "DataType", "dtype"}


def dump():
    import tvm  # noqa: F401  (registers the node types)
    from tvm_ffi import core

    out = {}
    for key in TYPES:
        if core._object_type_key_to_index(key) is None:
            continue
        info = core._lookup_or_register_type_info_from_type_key(key)
        rows = {}
        while info is not None:
            for f in info.fields:
                rows[f.name] = json.loads(f.metadata["type_schema"])["type"] in INLINE
            info = info.parent_type_info
        out[key] = rows
    json.dump(out, sys.stdout, indent=1)


def merge(tilelang_path, tvm_path):
    with open(tilelang_path) as a, open(tvm_path) as b:
        dialects = [json.load(a), json.load(b)]
    print("// Node types of TVM's saved JSON and their fields, written by tools/dump_schema.py; edit that script, not this file.")
    print("// KILN_NODE(enumerator, type key), then its fields: KILN_FIELD(name, in TileLang's dialect, in Apache TVM 0.27's).")
    print("// First every field name once: KILN_FIELD_NAME(name).")
    for name in sorted({f for d in dialects for rows in d.values() for f in rows}):
        print(f"KILN_FIELD_NAME({name})")
    for key in TYPES:
        rows = [d.get(key) or {} for d in dialects]
        if not any(rows):
            continue
        print(f'KILN_NODE({key.replace(".", "_")}, "{key}")')
        for name in sorted(set(rows[0]) | set(rows[1])):
            how = ["kAbsent" if name not in r else "kInline" if r[name] else "kNode" for r in rows]
            print(f"KILN_FIELD({name}, {how[0]}, {how[1]})")
        print("KILN_END()")


if __name__ == "__main__":
    if sys.argv[1:] == ["dump"]:
        dump()
    elif len(sys.argv) == 4 and sys.argv[1] == "merge":
        merge(*sys.argv[2:])
    else:
        sys.exit(__doc__)
