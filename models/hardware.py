"""The chip as data: every number with its unit and source, each replaceable (`--set hardware.trf.rows_per_bank=64`)."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class _Group(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Geometry(_Group):
    """Units and how many there are."""

    clusters_per_chip: int = Field(ge=1)
    slices_per_cluster: int = Field(ge=1)
    min_slices: int = Field(ge=1)
    lanes_per_slice: int = Field(ge=1)
    flit_bytes: int = Field(ge=1)


class DM(_Group):
    """Data memory of one slice."""

    bytes_per_slice: int = Field(ge=1)
    banks: int = Field(ge=1)
    bank_bytes: int = Field(ge=1)
    rows: int = Field(ge=1)
    alignment_bytes: int = Field(ge=1)
    starvation_accesses: int = Field(ge=1)
    network_bytes_per_cycle: int = Field(ge=1)
    slices_per_network: int = Field(ge=1)


class TRF(_Group):
    """Tensor register file of one slice."""

    banks: int = Field(ge=1)
    rows_per_bank: int = Field(ge=1)
    row_bits: int = Field(ge=1)
    row_data_bytes: int = Field(ge=1)
    cache_rows: int = Field(ge=1)
    narrow_read_bytes: int = Field(ge=1)
    wide_read_bytes: int = Field(ge=1)
    contention: int = Field(ge=0, le=1)


class VRF(_Group):
    """Vector register file of one slice."""

    bytes_per_slice: int = Field(ge=1)
    alignment_bytes: int = Field(ge=1)


class Sequencer(_Group):
    """Address sequencers of Fetch and Commit."""

    entries: int = Field(ge=1)
    max_entry_size: int = Field(ge=1)


class Fetch(_Group):
    """Fetch engine."""

    max_read_bytes_main: int = Field(ge=1)
    read_bytes_sub: int = Field(ge=1)
    packet_alignment_bytes: int = Field(ge=1)
    table_lookup_tenths_per_flit: int = Field(ge=1)


class Switch(_Group):
    """Ring of routers."""

    pass_extra_steps: int = Field(ge=1)
    ring_tenths_per_flit: int = Field(ge=1)
    bitmap_load_cycles: int = Field(ge=1)


class Contraction(_Group):
    """Contraction engine."""

    accumulator_cells: int = Field(ge=1)
    accumulator_columns: int = Field(ge=1)
    interleaved_slots: int = Field(ge=1)
    sequential_slots: int = Field(ge=1)
    max_packet_flits: int = Field(ge=1)
    out_columns: int = Field(ge=1)


class Vector(_Group):
    """Vector engine."""

    ways_wide: int = Field(ge=1)
    ways_narrow: int = Field(ge=1)
    time_slots: int = Field(ge=1)
    inter_slice_pass_base_cycles: int = Field(ge=1)
    inter_slice_cycles_per_step: int = Field(ge=1)
    inter_slice_offset_cycles: int
    vcg_time_filters: int = Field(ge=1)
    vcg_filter_entries: int = Field(ge=1)


class Transpose(_Group):
    """Transpose engine: limits by element bits; a dual size of 0 means that there is no dual packing."""

    bits4_valid_size: int = Field(ge=1)
    bits4_dual_valid_size: int = Field(ge=0)
    bits4_max_in_rows: int = Field(ge=1)
    bits4_min_in_cols: int = Field(ge=1)
    bits8_valid_size: int = Field(ge=1)
    bits8_dual_valid_size: int = Field(ge=0)
    bits8_max_in_rows: int = Field(ge=1)
    bits8_min_in_cols: int = Field(ge=1)
    bits16_valid_size: int = Field(ge=1)
    bits16_dual_valid_size: int = Field(ge=0)
    bits16_max_in_rows: int = Field(ge=1)
    bits16_min_in_cols: int = Field(ge=1)
    bits32_valid_size: int = Field(ge=1)
    bits32_dual_valid_size: int = Field(ge=0)
    bits32_max_in_rows: int = Field(ge=1)
    bits32_min_in_cols: int = Field(ge=1)
    max_in_cols: int = Field(ge=1)
    double_buffered_in_cols: int = Field(ge=0)


class Passes(_Group):
    """What a trip through the Tensor Unit takes beside its largest step count."""

    register_store_base_cycles: int = Field(ge=1)
    contraction_base_cycles: int = Field(ge=1)
    commit_base_cycles: int = Field(ge=1)
    vector_base_cycles: int = Field(ge=1)
    short_store_base_cycles: int = Field(ge=1)


class Kernel(_Group):
    """The frame of a kernel."""

    first_start_cycles: int = Field(ge=1)
    final_sync_cycles: int = Field(ge=1)
    fence_cycles: int = Field(ge=1)
    computed_view_lag_cycles: int


class DMA(_Group):
    """DMA engines and HBM."""

    engines_per_chip: int = Field(ge=1)
    slices_per_engine: int = Field(ge=1)
    hbm_bytes: int = Field(ge=1)
    hbm_gb_per_second: int = Field(ge=1)
    access_bytes: int = Field(ge=1)
    packet_bytes: int = Field(ge=1)
    channels: int = Field(ge=1)
    burst_requests: int = Field(ge=1)
    in_flight_requests: int = Field(ge=1)
    queue_requests: int = Field(ge=1)
    service_tenths: int = Field(ge=1)
    service_chunk_tenths: int = Field(ge=1)
    service_chunk_bytes: int = Field(ge=1)
    return_tenths: int = Field(ge=1)
    load_base_cycles: int = Field(ge=1)
    store_base_cycles: int = Field(ge=1)
    group_cycles: int = Field(ge=1)
    single_slice_base_cycles: int = Field(ge=1)
    single_slice_request_tenths: int = Field(ge=1)
    partial_base_cycles: int = Field(ge=1)
    partial_weight_tenths: int = Field(ge=1)
    partial_tiny_weight_tenths: int = Field(ge=1)
    partial_tiny_bytes: int = Field(ge=1)
    partial_cap_writes: int = Field(ge=1)
    copy_base_cycles: int = Field(ge=1)
    peak_bytes_per_cycle: int = Field(ge=1)


class Provenance(_Group):
    """Where a number comes from; a documentary one is read by no result."""

    unit: str
    source: str
    documentary: bool = False


class Hardware(_Group):
    """All numbers of a chip. Leaf paths such as `trf.rows_per_bank` key `provenance`."""

    name: str
    geometry: Geometry
    dm: DM
    trf: TRF
    vrf: VRF
    sequencer: Sequencer
    fetch: Fetch
    switch: Switch
    contraction: Contraction
    vector: Vector
    transpose: Transpose
    passes: Passes
    kernel: Kernel
    dma: DMA
    provenance: dict[str, Provenance] = Field(default_factory=dict)
