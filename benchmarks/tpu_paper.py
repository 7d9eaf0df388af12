"""What a step of a compiled program needs on paper: bytes over the links of a TPU v5p, seconds at its peak rates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

EDGES = {8: 2, 64: 4, 512: 8, 4096: 16}
"""Chips -> chips along an edge of their cube."""

# Peaks of a chip, from https://cloud.google.com/tpu/docs/v5p: 459 TFLOP/s, 2,765 GB/s, 4,800 Gbit/s.
FLOPS = 459e12
MEMORY = 2765e9
LINKS, LINK = 6, 4800e9 / 8 / 6
"""Links of a chip in a torus of three dimensions, and the bytes a second that it sends on one."""
# About a microsecond from a chip to the next, from https://jax-ml.github.io/scaling-book/sharding.
HOP = 1e-6


def sent(kind: str, size: int, chips: int) -> float:
    """Bytes that each chip sends for a collective whose result has ``size`` bytes, by the algorithms that send least.

    A ring reduces and scatters in n - 1 parts of 1/n, then gathers as many: 2 (n - 1) / n of the size. No algorithm
    sends less (Patarasuk and Yuan 2009, "Bandwidth optimal all-reduce algorithms for clusters of workstations"). In a
    torus one axis after the other comes to the same bytes, and parts that take the axes in different orders use all
    links (Jain and Sabharwal 2010, "Optimal bucket algorithms for large MPI collectives on torus interconnects").
    """
    others = chips - 1
    parts = {
        "all-reduce": 2 * others / chips,
        "all-gather": others / chips,
        "all-to-all": others / chips,
        "reduce-scatter": others,
        "collective-permute": 1,
    }
    return size * parts[kind]


def sent_by(found: Mapping[str, Any], chips: int) -> float:
    """Bytes that each chip sends in a step of a program, by its ``figures``."""
    return sum(sent(kind, size, chips) for kind, _, size in found["collectives"])


def held(memory: Mapping[str, int]) -> int:
    """Bytes of one chip while the program runs; outputs that take the place of arguments count once."""
    return sum(memory.values()) - 2 * memory["aliased"]


def seconds(found: Mapping[str, Any], chips: int, steps: int) -> dict[str, float]:
    """What one step of a loop takes at the chip's peak rates, if nothing else held it up.

    Args:
      found: the program's ``figures``.
      chips: that it is for.
      steps: whose inputs are among its arguments.

    Returns:
      flops: for the arithmetic, all of it as bfloat16.
      state: for reading and writing the donated state once and reading the input once: the least memory traffic.
      memory: for the operands and results of all operations, also of those that stay in near memory: the most.
      links: for the bytes that the chip sends. The links that close a ring come with whole cubes of 4 x 4 x 4, so of
        eight chips each has three links, else six.
      hops: for the way there and back between the chips that are furthest apart, once for each collective.
    """
    edge, memory = EDGES[chips], found["memory"]
    state = 2 * memory["aliased"] + (memory["arguments"] - memory["aliased"]) / steps
    links = LINKS if edge > 2 else LINKS // 2
    return {
        "flops": found["flops"] / FLOPS,
        "state": state / MEMORY,
        "memory": found["bytes"] / MEMORY,
        "links": sent_by(found, chips) / (links * LINK),
        "hops": 2 * 3 * (edge // 2) * HOP * len(found["collectives"]),
    }
