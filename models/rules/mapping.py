"""Rules of mapping text (domain: section 1)."""

from __future__ import annotations

from models.faults import Rule

_SOURCE = "book, mapping expressions; domain section 1"

RULES: tuple[Rule, ...] = tuple(
    Rule(id, sentence, _SOURCE, kind="file")
    for id, sentence in (
        ("mapping_syntax", "A mapping follows the grammar of the text inside m![ ]."),
        ("mapping_too_long", "Mapping text has at most 65,536 characters, and a mapping at most 256 terms."),
        ("mapping_too_deep", "A mapping nests at most 64 deep."),
        ("mapping_too_large", "A mapping has at most 2^63 - 1 positions."),
        ("unknown_axis", "Every axis in a mapping is declared."),
        ("unknown_layout", "Every named layout in a mapping is declared."),
        ("size_out_of_range", "A size is at least 1 and at most 2^63 - 1."),
        ("stride_must_divide", "In `e / n`, n divides the size of e."),
        ("modulo_must_divide", "In `e % n`, n divides the size of e."),
        ("padding_must_grow", "In `e # n`, n is at least the size of e."),
        ("resize_must_shrink", "In `e = n`, n is at most the size of e."),
    )
)
