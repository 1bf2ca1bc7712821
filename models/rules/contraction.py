"""Rules of the contraction engine (domain: section 7)."""

from __future__ import annotations

from models.faults import Rule

_OUTER = "book, contraction engine, outer; domain section 7"
_TRF = "book, TRF sequencer; domain section 7"
_PACKET = "book, packet reducer; domain section 7"
_LANE = "book, lane folder; domain section 7"

RULES: tuple[Rule, ...] = (
    Rule(
        "multiplier_operands",
        "Operands pair as i4|i5 x i4|i5, i8|i9 x i8|i9, f8e4m3 x f8e4m3, f8e5m2 x f8e5m2 or bf16 x bf16.",
        _OUTER,
    ),
    Rule(
        "operand_split",
        "A register operand is split over Chip, Cluster and Slice exactly as the stream that uses it.",
        "domain section 6",
    ),
    Rule("contract_packet_flits", "The packet of a contraction has 32 or 64 bytes.", _OUTER),
    Rule("flit_mismatch", "The inner flit of the packet of contract_outer is the stream's packet.", _OUTER),
    Rule("packed_time_mismatch", "A second flit is packed from the innermost size-2 factor of Time.", _OUTER),
    Rule("contract_time_out", "Time of contract_outer is the outer Time with broadcasts innermost.", _OUTER),
    Rule(
        "contract_broadcast",
        "Time is broadcast in contract_outer over axes that the TRF holds and the stream lacks.",
        _OUTER,
    ),
    Rule("trf_not_addressable", "Time and Packet name digits of the TRF operand, or axes that it lacks.", _TRF),
    Rule(
        "trf_packet_not_readable", "One TRF read gives the packet's innermost elements, the rest is a broadcast.", _TRF
    ),
    Rule("trf_wide_alignment", "Wide TRF reads, over 32 bytes, step by multiples of 64 bytes.", _TRF),
    Rule("trf_cell_unread", "A contraction reads every live cell of its TRF operand.", _TRF),
    Rule("lane_in_stream", "Digits of the lanes do not stand in the stream's Time or Packet.", _OUTER),
    Rule("contract_packet_power", "A power of two of columns is left of a packet.", _PACKET),
    Rule("contract_packet_columns", "At most 32 columns are left of a packet.", _PACKET),
    Rule(
        "contract_packet_mismatch",
        "What is left of a packet is Packet / 2^d, padding alone beyond its columns.",
        _PACKET,
    ),
    Rule(
        "contract_time_mismatch",
        "Time after contract_time is Time without summed factors, order and padding kept.",
        "book, time reducer; domain section 7",
    ),
    Rule(
        "contract_lane_time",
        "Time after contract_lane is [Time, Packet], in Sequential mode [Time, Lane, PadPacket / 8].",
        _LANE,
        solver=True,
    ),
    Rule(
        "contract_lane_packet",
        "The packet after contract_lane is Lane # 8, in Sequential mode PadPacket % 8.",
        _LANE,
        solver=True,
    ),
    Rule(
        "slot_capacity",
        "Sums that run side by side fit the accumulator: 128 / Packet slots interleaved, 32 / Lane sequential.",
        "book, time reducer; domain section 7",
        solver=True,
    ),
)
