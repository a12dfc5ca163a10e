"""Claims of Narayanaswamy, Balaji and Feng about NAS programs whose ranks share a node's network.

"Impact of Network Sharing in Multi-core Architectures" (2008), sections 4.3 and 4.4: class B of seven
programs on 16 ranks with one, two or four per node, and on 64 ranks with four. Ranks are placed cyclically
unless the row says blocked; two ranks of a node have a socket each unless it says virtual (processor).

Performance is the program's rate. A loss is 1 minus the quotient of the rates, a gain the quotient minus 1;
a loss that the paper states for its worst program is compared with the worst here. Network bytes are those of
all messages between nodes, including collectives.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from kiviat.record.published import keeps_bound

SEVEN = ("bt", "cg", "ft", "is", "lu", "mg", "sp")
_ALL_TO_ALL = ("ft", "is")
_NEIGHBOURS = ("bt", "cg", "lu", "mg", "sp")
_ALL_BUT_CG = ("bt", "ft", "is", "lu", "mg", "sp")

Quantity = Literal["rate", "network bytes"]


@dataclass(frozen=True)
class Arrangement:
    """A number of nodes and of ranks per node (in the paper 16X1, 8X2, 4X4, 16X4), and their placement."""

    nodes: int
    per_node: int
    place: str = "cyclic"
    bind: str | None = None

    @property
    def ranks(self) -> int:
        """Ranks on all nodes."""
        return self.nodes * self.per_node

    def node(self, rank: int) -> int:
        """Return the index of a rank's node."""
        return rank % self.nodes if self.place == "cyclic" else rank // self.per_node


ALONE = Arrangement(16, 1)
CO_PROCESSOR = Arrangement(8, 2, bind="co-processor")
VIRTUAL_PROCESSOR = Arrangement(8, 2, bind="virtual-processor")
FOUR = Arrangement(4, 4)
CYCLIC = Arrangement(16, 4)
BLOCKED = Arrangement(16, 4, place="blocked")


@dataclass(frozen=True)
class Claim:
    """A claim about quotients: for each program, the quantity in later arrangements over that in the first.

    `answer` maps all quotients to a number in the paper's unit, or to whether a statement holds.
    """

    quantity: Quantity
    programs: tuple[str, ...]
    arrangements: tuple[Arrangement, ...]
    answer: Callable[[Sequence[float]], float | bool]

    def answered(self, value: Callable[[str, Arrangement], float | None]) -> float | bool | None:
        """Return the answer, or None if any value is unknown."""
        quotients = []
        for program in self.programs:
            found = [value(program, where) for where in self.arrangements]
            known = [one for one in found if one is not None]
            if len(known) < len(found) or not known[0]:
                return None
            quotients += [one / known[0] for one in known[1:]]
        return self.answer(quotients)


def compared(relation: str, published: float, answer: float) -> bool | float:
    """Return whether a published bound holds; for a value, answer minus published, in its unit."""
    kept = keeps_bound(relation, published, answer)
    return answer - published if kept is None else kept


def _farthest(quotients: Sequence[float]) -> float:
    return max(quotients, key=lambda one: abs(one - 1))


def _worst_loss(quotients: Sequence[float]) -> float:
    return 100 * (1 - min(quotients))


def _reduction(quotients: Sequence[float]) -> float:
    return 100 * (1 - _farthest(quotients))


def _gain(quotients: Sequence[float]) -> float:
    return 100 * (_farthest(quotients) - 1)


def _all_lose(quotients: Sequence[float]) -> bool:
    return max(quotients) < 1


# Claims by the row's id in published/.
CLAIMS: Mapping[str, Claim] = {
    "V-001": Claim("rate", SEVEN, (ALONE, CO_PROCESSOR), _worst_loss),
    "V-002": Claim("rate", SEVEN, (ALONE, CO_PROCESSOR), _all_lose),
    "V-011": Claim("network bytes", _ALL_TO_ALL, (ALONE, CO_PROCESSOR), _reduction),
    "V-012": Claim("network bytes", _NEIGHBOURS, (ALONE, CO_PROCESSOR), _reduction),
    "V-016": Claim("network bytes", ("cg",), (ALONE, CO_PROCESSOR, FOUR), _reduction),
    "V-017": Claim("rate", SEVEN, (CO_PROCESSOR, VIRTUAL_PROCESSOR), _worst_loss),
    "V-018": Claim("rate", SEVEN, (CO_PROCESSOR, VIRTUAL_PROCESSOR), _all_lose),
    "V-025": Claim("rate", ("cg",), (CYCLIC, BLOCKED), _gain),
    "V-026": Claim("rate", _ALL_BUT_CG, (CYCLIC, BLOCKED), lambda quotients: max(quotients) <= 1),
    "V-031": Claim("network bytes", ("cg",), (CYCLIC, BLOCKED), _farthest),
    "V-032": Claim("network bytes", _ALL_TO_ALL, (CYCLIC, BLOCKED), _gain),
}
