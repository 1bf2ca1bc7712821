"""One change that makes each broken kernel file legal, and another legal one right beside it."""

DEEP = "[" * 70 + "]" * 70

# Ten to the seventh values in seven lines.
BOMB = "description:\n  - &a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + "".join(
    f"  - &{new} [{', '.join([f'*{old}'] * 10)}]\n" for old, new in zip("abcdef", "bcdefg", strict=True)
)

# rule: (what is broken in tests/broken/RULE.yaml, what makes it legal, what is legal beside it)
CHANGES: dict[str, tuple[str, str, str]] = {
    "several_documents": (
        "  - {dma: store_c, read: c_dm, write: c}\n---\nkernel: second\n",
        "  - {dma: store_c, read: c_dm, write: c}\n",
        "  - {dma: store_c, read: c_dm, write: c}\n...\n",
    ),
    "yaml_syntax": (
        "K: 64\n",
        "K: 64}\n",
        "K: 64,}\n",
    ),
    "yaml_tab": (
        'layouts:\n\tGrid: "I / 32, J / 32"\n',
        'layouts: {Grid: "I / 32, J / 32"}\n',
        'layouts:\n  Grid: "I / 32, J / 32"\n',
    ),
    "duplicate_key": (
        "I: 512, J: 512, I: 256",
        "I: 512, J: 512",
        "J: 512, I: 512",
    ),
    "alias_bomb": (
        BOMB,
        "description: C[i, j] = sum over k of A[i, k] * B[j, k], one 32 x 32 output tile per slice\n",
        "description: &words an anchor alone\n",
    ),
    "alias_loop": (
        "description: &words [*words]\n",
        "description: C[i, j] = sum over k of A[i, k] * B[j, k], one 32 x 32 output tile per slice\n",
        "description: &words an anchor alone\n",
    ),
    "merge_key": (
        'b: {<<: {dtype: bf16}, element: "J, K"}',
        'b: {dtype: bf16, element: "J, K"}',
        'b: {element: "J, K", dtype: bf16}',
    ),
    "explicit_tag": (
        "description: !!python/object/apply:os.system [echo]\n",
        "description: C[i, j] = sum over k of A[i, k] * B[j, k], one 32 x 32 output tile per slice\n",
        'description: "!!python/object/apply:os.system"\n',
    ),
    "file_too_deep": (
        f"description: {DEEP}\n",
        "description: C[i, j] = sum over k of A[i, k] * B[j, k], one 32 x 32 output tile per slice\n",
        f'description: "{DEEP}"\n',
    ),
    "unquoted_padding": (
        '      - fetch:\n          time: "B"\n          packet: C # 64\n',
        '      - fetch: {time: "B", packet: "C"}\n',
        '      - fetch:\n          time: "B"\n          packet: C # all of it\n',
    ),
    "wrong_type": (
        'count: "15"',
        "count: 15",
        "count: 0xF",
    ),
    "wrong_length": (
        "{tag: [{Less: 0}, {Less: 1}, {Less: 2}, {Less: 3}, {Less: 4}]}",
        "{tag: zero}",
        '{tag: [{Less: 0}, {Greater: 1}, "True", "False"]}',
    ),
    "wrong_choice": (
        "pass: scale\n        context: mian\n",
        "pass: scale\n",
        "pass: scale\n        context: main\n",
    ),
    "number_out_of_range": (
        "count: 0",
        "count: 15",
        "count: 1",
    ),
    "unknown_field": (
        "regoin: auto",
        "region: auto",
        "region: full",
    ),
    "missing_field": (
        'slice: "A"',
        'slice: "A", element: "B, C"',
        'cluster: "1 # 2", slice: "A", element: "B, C"',
    ),
    "conflicting_fields": (
        "{op: mul, operand: w_vrf, operands: [w_vrf, null]}",
        "{op: mul, operand: w_vrf}",
        "{op: mul, operands: [w_vrf, null]}",
    ),
    "unknown_operation": (
        "{dam: load_a,",
        "{dma: load_a,",
        "{dma: load_the_first,",
    ),
    "unknown_step": (
        "- colect\n",
        "- collect\n",
        '- collect: {time: "B", packet: "C"}\n',
    ),
    "unknown_vector_op": (
        "{fp_binry: {op: mul,",
        "{fp_binary: {op: mul,",
        '{fp_binary: {mode: "10", op: mul,',
    ),
    "unknown_op_name": (
        "op: mulx,",
        "op: mul,",
        "op: MulF,",
    ),
    "bad_name": (
        "{dma: load a,",
        "{dma: load_a,",
        "{dma: load-a.1,",
    ),
    "axis_size": (
        "K: 0",
        "K: 64",
        "K: 2147483648",
    ),
    "unknown_dtype": (
        "a: {dtype: bf17",
        "a: {dtype: bf16",
        "a: {dtype: f32",
    ),
    "staged_dtype": (
        "x: {dtype: i9",
        "x: {dtype: i8",
        "x: {dtype: i4",
    ),
    "layout_cycle": (
        '{Grid: "I / 32, {Other}", Other: "{Grid}"}',
        '{Grid: "I / 32, J / 32"}',
        '{Grid: "I / {N}, {Other}", Other: "J / 32", N: 32}',
    ),
    "duplicate_operation": (
        "{dma: load_a, read: b,",
        "{dma: load_b, read: b,",
        "{dma: load_c, read: b,",
    ),
    "duplicate_tensor": (
        '  - {reshape: x_dm, of: y_dm, slice: "A", element: "B, C"}\n  - {dma: store,',
        "  - {dma: store,",
        '  - {reshape: z_dm, of: y_dm, slice: "A", element: "B, C"}\n  - {dma: store,',
    ),
    "unknown_tensor": (
        "read: a_dn\n",
        "read: a_dm\n",
        "read: b_dm\n",
    ),
    "used_before_written": (
        "  - {dma: early, read: a_dm, write: c}\n  - {dma: load_a,",
        "  - {dma: load_a,",
        "  - {dma: early, read: a, write: c}\n  - {dma: load_a,",
    ),
    "cycle": (
        "read: c_dm\n",
        "read: b_dm\n",
        "read: a_dm\n",
    ),
    "input_written": (
        "read: c_dm, write: b}",
        "read: c_dm, write: c}",
        "read: c_dm, write: c, passes: auto}",
    ),
    "output_never_written": (
        'c: {dtype: bf16, element: "I, J", role: output}\n  d: {dtype: bf16, element: "I, J", role: output}',
        'c: {dtype: bf16, element: "I, J", role: output}',
        'c: {dtype: bf16, element: "I, J", role: output}\n  d: {dtype: bf16, element: "I, J", role: input}',
    ),
    "wrong_memory": (
        "{with: b_dm,",
        "{with: b_trf,",
        "{with: auto, operands: [b_trf],",
    ),
    "start_syntax": (
        '- pass: stage\n        read: {tensor: w_dm, tile: "L % 60", length: 4, start: "4 i"}',
        '- pass: stage\n        read: {tensor: w_dm, tile: "L % 60", length: 4, start: "4 * i"}',
        '- pass: stage\n        read: {tensor: w_dm, tile: "L % 60", length: 4, start: "i * 2 * 2 + 0"}',
    ),
    "unknown_loop_variable": (
        '- pass: stage\n        read: {tensor: w_dm, tile: "L % 60", length: 4, start: "4 * j"}',
        '- pass: stage\n        read: {tensor: w_dm, tile: "L % 60", length: 4, start: "4 * i"}',
        '- pass: stage\n        read: {tensor: w_dm, tile: "L % 60", length: 4, start: 8}',
    ),
    "tile_out_of_range": (
        '- pass: stage\n        read: {tensor: w_dm, tile: "L % 60", length: 4, start: "4 * i + 1"}',
        '- pass: stage\n        read: {tensor: w_dm, tile: "L % 60", length: 4, start: "4 * i"}',
        '- pass: stage\n        read: {tensor: w_dm, tile: "L % 60", length: 4, start: "56 - 4 * i"}',
    ),
    "too_many_operations": (
        "count: 50000",
        "count: 15",
        "count: 14",
    ),
    "unused_tensor": (
        '  - {dma: spare, read: a, write: spare_dm, slice: "{Grid}", element: "I % 32, K"}\n  - {dma: store_c,',
        "  - {dma: store_c,",
        "  - {dma: spare, read: c_dm, write: c}\n  - {dma: store_c,",
    ),
}
