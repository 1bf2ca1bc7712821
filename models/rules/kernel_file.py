"""Rules of kernel files: what a file, its fields and its names must be before any engine is asked."""

from __future__ import annotations

from models.faults import Rule

_PAGE = "kernel-file page"
_BAD = f"{_PAGE}, what a bad file gets"
_STEPS = f"{_PAGE}, steps"
_OPERATIONS = f"{_PAGE}, operations"

RULES: tuple[Rule, ...] = (
    *(
        Rule(id, sentence, source, kind="file")
        for id, sentence, source in (
            ("unreadable_file", "A kernel file can be opened and read.", _BAD),
            ("file_too_large", "A kernel file has at most 4 MB.", _BAD),
            ("file_not_text", "A kernel file is UTF-8 text without control characters.", _PAGE),
            ("empty_file", "A kernel file holds one document that is a mapping of fields.", _PAGE),
            ("several_documents", "A kernel file holds one document.", _PAGE),
            ("yaml_syntax", "A kernel file is YAML 1.2.", _PAGE),
            ("yaml_tab", "YAML is indented with spaces, never with tabs.", _PAGE),
            ("duplicate_key", "A field stands once in its mapping.", _BAD),
            ("alias_bomb", "A file has at most 200,000 values once its aliases are written out.", _BAD),
            ("alias_loop", "An alias refers to a value that is complete before it.", _BAD),
            ("merge_key", "YAML 1.2 has no merge key `<<`; fields are written out.", _PAGE),
            ("explicit_tag", "Values carry no YAML tag.", _PAGE),
            ("file_too_deep", "YAML nests at most 64 deep.", _BAD),
            ("unquoted_padding", "Mapping text with padding is quoted: ` #` begins a YAML comment.", _BAD),
            ("wrong_type", "A field holds the kind of value that its table row names.", _STEPS),
            ("wrong_length", "A list has as many items as its field takes.", _STEPS),
            ("wrong_choice", "A field with listed values holds one of them.", _STEPS),
            ("number_out_of_range", "A number is finite and inside its field's bounds.", _STEPS),
            ("unknown_field", "Only the fields of the table stand in a mapping.", _BAD),
            ("missing_field", "Every required field is given.", _STEPS),
            ("conflicting_fields", "Fields that say the same thing twice are not given together.", _STEPS),
            ("unknown_operation", "An operation is dma, reshape, pass or loop.", _OPERATIONS),
            ("unknown_step", "A step is one of the table of steps.", _STEPS),
            ("unknown_vector_op", "A vector op is one of the list of vector ops.", _STEPS),
            ("unknown_op_name", "An op's name is one of its stage's.", "domain section 8"),
            (
                "bad_name",
                "A name is a letter or _, then letters, digits, _ . -, at most 255; axes begin with a capital.",
                _PAGE,
            ),
            ("axis_size", "An axis has size 1 to 2^31.", _BAD),
            ("unknown_dtype", "An element type is one of the chip's.", "domain section 2"),
            ("staged_dtype", "i5 and i9 exist only as staged operands, never in memory.", "domain section 2"),
            ("layout_cycle", "A named layout does not contain itself.", _BAD),
            ("layout_too_large", "Named layouts written out stay within 400,000 characters.", _BAD),
            ("duplicate_operation", "An operation's name is its own.", _PAGE),
            ("duplicate_tensor", "A name stands for tensors of one memory; a relabelling's is new.", _OPERATIONS),
            ("unknown_tensor", "A tensor that is read or written is declared or created.", _BAD),
            ("used_before_written", "A tensor is written before it is read.", _BAD),
            ("cycle", "No tensor is made from itself.", _BAD),
            ("input_written", "A kernel does not write its inputs.", _PAGE),
            ("output_never_written", "A kernel writes every output.", _PAGE),
            (
                "wrong_memory",
                "A pass reads DM, multiplies with TRF, takes operands from VRF; DMA moves HBM and DM.",
                "domain section 3",
            ),
            (
                "start_syntax",
                "`start` is a sum of loop variables times whole numbers, such as `4 * i + 2`.",
                _OPERATIONS,
            ),
            ("unknown_loop_variable", "`start` uses the variables of the loops around it.", _OPERATIONS),
            ("tile_out_of_range", "A tile lies inside its digit in every iteration.", _OPERATIONS),
            ("too_many_operations", "Loops unroll to at most 100,000 operations.", _BAD),
        )
    ),
    Rule(
        "unused_tensor",
        "A tensor that nothing reads is probably a slip.",
        _PAGE,
        kind="file",
        warning=True,
    ),
)
