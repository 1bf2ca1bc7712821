"""A bound from two machines: what the first one must have done before an operation of the second one starts.

Take an operation v of a machine B. Every other operation of B ends before v starts or starts after v has ended. Before
v starts, a machine A has served v's ancestors; after that, B still serves v and its descendants. An operation w of B
that v is not ordered with adds to one side or the other: before v, and its own ancestors on A come before v as well, or
behind v, and B serves it there. So it costs at least the lesser of the two. Ancestors on A are charged to one w each,
never twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Graph:
    """Operations by number in an order that edges allow.

    `heads` and `tails`: cycles before the start and after the end; `distance[a, b]`: from the end of b to the start of
    a, its descendant, -1 where it is none.
    """

    heads: Array
    works: Array
    tails: Array
    distance: Array


def crossing(graph: Graph, before: Array, after: Array) -> int:
    """The largest bound over all operations of machine `after`; 0 where none has an ancestor on `before`.

    Both machines are given by the numbers of operations that surely take time on them.
    """
    if not len(before) or not len(after):
        return 0
    ancestors = graph.distance[np.ix_(after, before)] >= 0
    order = graph.distance[np.ix_(after, after)] >= 0
    # The first descendant on the second machine answers for an operation of the first one.
    answers = np.where(ancestors.any(axis=0), ancestors.argmax(axis=0), -1)
    best = 0
    for me in np.flatnonzero(ancestors.any(axis=1)).tolist():
        best = max(best, _at(graph, before, after, ancestors[me], order, answers, me))
    return best


def _at(graph: Graph, before: Array, after: Array, mine: Array, order: Array, answers: Array, me: int) -> int:
    """The bound at one operation: `mine` are its ancestors on the first machine."""
    open_ = ~(order[me] | order[:, me])
    open_[me] = False
    charged = (answers >= 0) & ~mine & open_[answers]
    costs = np.bincount(answers[charged], weights=graph.works[before[charged]], minlength=len(after)).astype(np.int64)
    works = graph.works[after]
    behind = order[:, me].copy()
    behind[me] = True
    reach = np.concatenate(
        (
            graph.distance[after[me], before[mine]],
            graph.distance[after[answers[charged]], before[charged]] + works[answers[charged]],
        )
    )
    return int(
        graph.heads[before[mine | charged]].min()
        + graph.works[before[mine]].sum()
        + reach.min()
        + works[behind].sum()
        + np.minimum(costs, works)[open_].sum()
        + graph.tails[after[behind | open_]].min()
    )
