"""Rules of DMA transfers (domain: section 10; kernel files: DMA operations)."""

from __future__ import annotations

from models.faults import Rule

_BOOK = "book, DMA engine; domain section 10"
_FILE = "book, DMA engine; kernel files, operations"
_MEMORY = "book, memory; domain section 2"
_GUESS = "domain section 1: not decided is an answer, a guess is none"


RULES: tuple[Rule, ...] = (
    *(
        Rule(id, sentence, source)
        for source, id, sentence in (
            (_BOOK, "dma_memory", "A transfer moves between HBM and DM or inside one of them, not to register files."),
            (_BOOK, "dma_dtype", "A transfer keeps the element type."),
            (_BOOK, "dma_chip", "A transfer between HBM and DM stays on its chip: both chip mappings are the same."),
            (_MEMORY, "dma_units", "DM has at most the chip's clusters, and 64, 128 or 256 slices in each."),
            (_MEMORY, "dma_hbm_size", "A tensor fits the chip's HBM."),
            (_MEMORY, "dma_dm_size", "A tensor fits the data memory of a slice."),
            (
                _FILE,
                "dma_cells_missing",
                "The source holds every cell of the destination; axes it lacks are broadcast.",
            ),
            (_FILE, "dma_cells_unwritten", "A store writes every live cell of its destination, or of the tile named."),
            (_FILE, "dma_axis_dropped", "Every axis of the source stands in the destination, or its cells would meet."),
            (_BOOK, "dma_whole_bytes", "Every contiguous run of a transfer begins and ends at a whole byte."),
            (_BOOK, "dma_dm_alignment", "A transfer writes DM in runs that begin at multiples of 8 bytes."),
        )
    ),
    *(
        Rule(id, sentence, source, kind="file")
        for source, id, sentence in (
            (_FILE, "dma_tile_digit", "A tile of a transfer is a digit of one axis of its tensor."),
            (_FILE, "dma_tile_bounds", "A tile ends within its digit."),
            (
                _GUESS,
                "dma_not_decided",
                "The digits of both sides meet at borders that divide one another, and long walks repeat themselves.",
            ),
        )
    ),
)
