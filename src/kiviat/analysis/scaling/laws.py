"""Laws of scaling, fitted to measurements on several numbers of ranks.

**Laws.** P is the number of ranks, T the time for the same work (strong scaling) or for the same work per
rank (weak scaling), C the work done per second.

- linear: T is proportional to 1/P (strong), or constant (weak).
- Amdahl (AFIPS 30 (1967) 483–485), strong: T = T1 (σ + (1 − σ)/P).
- Gustafson (Communications of the ACM 31 (1988) 532–533), weak: C = C1 (s + (1 − s) P).
- USL, Gunther's universal scalability law (Guerrilla Capacity Planning, 2007, chapter 4): C = C1 P / (1 + σ
  (P − 1) + κ P (P − 1)), where σ is contention and κ the cost of coherence.
- logarithmic: T = a + b log2 P + c P: work of each rank, trees of messages, and costs that each rank adds for
  all others.
- divided, strong: T = a / P + b log2 P + c: work that ranks divide, trees of messages, and serial work.

**Fit.** T or C is a sum of columns times nonnegative coefficients, which minimise the squared differences of
logarithms: launches are assumed to scatter independently, and by the same relative amount at every number of
ranks. 95 % intervals use Student's t and the linearised law, cut off at the ends of the parameters' ranges
(such as a share of 0). With several launches at a number of ranks, the differences between the law and their
means are compared with their scatter (F test of lack of fit, at 1 %). If they are larger than the scatter
explains, the launches contradict the law, and its intervals then follow from these differences. A law needs
one number of ranks more than it has coefficients.

**Choice.** By Akaike's criterion for small samples, AICc (Hurvich, Tsai: Biometrika 76 (1989) 297–307), among
the laws that the launches do not contradict. A law is excluded if another one that contains it is
significantly better (F test, at 5 %), however few the points. Laws within 4 of the best are supported
(Burnham, Anderson: Sociological Methods and Research 33 (2004) 261–304). Of several supported laws, one that
all others contain is chosen if it is within 2 of the best; otherwise none is chosen.

If launches contradict all laws, and for simulations, which do not vary, AICc is meaningless. Then the law is
chosen that, fitted to all other numbers of ranks, predicts the largest one best. Laws whose errors there are
at most three times as large, or below 0.1 %, count as equal; a law with an error above 5 % is not chosen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from kiviat.analysis.statistics.distributions import f_tail, t_quantile
from kiviat.analysis.statistics.intervals import Floats
from kiviat.record.types import LEVEL
from kiviat.record.units import listed

Column = Callable[[Floats], Floats]

_LACK_OF_FIT = 0.01
_BETTER_BY_CHANCE = 0.05
_SUPPORTED = 4.0
_AS_GOOD = 2.0
_AS_NEAR, _NEAR = 3.0, 0.001
_TOO_FAR = 0.05
_ITERATIONS = 40
# Relative rounding of values printed with six digits: no fit can be more accurate.
_EXACT = 1e-6
# A coefficient below this share of all is 0: what rounding leaves of it depends on the version of NumPy.
_NOTHING = 1e-12
_WIDEST = 20.0  # limit of a band, as a power of e; wider bands are meaningless


@dataclass(frozen=True)
class Shape:
    """How a parameter of a law is computed from its coefficients; it lies between 0 and `most`."""

    name: str
    meaning: str
    of: Callable[[Floats], float]
    most: float = math.inf
    seconds: bool = False  # it is a time, not a share


@dataclass(frozen=True)
class Law:
    """`columns` add up to the time, or to the work done per second if `of_work`."""

    name: str
    formula: str
    columns: tuple[Column, ...]
    shapes: tuple[Shape, ...]
    of_work: bool = False
    within: tuple[str, ...] = ()  # names of laws that are this one with some coefficients 0


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter with its 95 % interval `low` to `high`, None if chance is unknown.

    `value` is None if the law has no such share, because the time on one rank is 0.
    """

    name: str
    meaning: str
    value: float | None
    low: float | None
    high: float | None
    seconds: bool


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """A law fitted to the points. Differences are relative.

    `off` is the root mean square of the differences, `worst` the largest. `held_out` is the difference, on
    the largest number of ranks, of the law fitted to all others. `contradicted`: the law is farther off than
    the scatter of launches explains, None with too few launches. `aicc` is None with too few launches.
    """

    law: Law
    coefficients: tuple[float, ...]
    parameters: tuple[Parameter, ...]
    off: float
    worst: float
    held_out: float | None
    contradicted: bool | None
    aicc: float | None
    squares: float
    freedom: int
    covariance: Floats | None

    @property
    def name(self) -> str:
        """Name of the law."""
        return self.law.name

    def parameter(self, name: str) -> Parameter:
        """Return the parameter of this name, which the law has."""
        return next(one for one in self.parameters if one.name == name)

    def time(self, ranks: float) -> tuple[float, float | None, float | None]:
        """Return T on `ranks` ranks, and its 95 % band if there is one."""
        row = _rows(self.law, np.array([ranks]))[0]
        sum_ = float(row @ np.array(self.coefficients))
        value = ranks / sum_ if self.law.of_work else sum_
        if self.covariance is None:
            return value, None, None
        slope = row / sum_
        half = t_quantile(LEVEL, self.freedom) * math.sqrt(max(0.0, float(slope @ self.covariance @ slope)))
        half = min(half, _WIDEST)
        return value, value * math.exp(-half), value * math.exp(half)


@dataclass(frozen=True, slots=True)
class Choice:
    """All fits, the chosen one, if any, and the reason; `apart`: fits that cannot be distinguished."""

    fits: tuple[Fit, ...]
    chosen: Fit | None
    words: str
    apart: tuple[Fit, ...] = ()

    @property
    def likely(self) -> tuple[Fit, ...]:
        """The chosen fit, or those that the data cannot distinguish."""
        return (self.chosen,) if self.chosen else self.apart


def _one(ranks: Floats) -> Floats:
    return np.ones_like(ranks)


def _share(place: int, *of: int) -> Callable[[Floats], float]:
    """Return a function: one coefficient divided by the sum of several; infinite if that is 0."""

    def share(c: Floats) -> float:
        whole = float(sum(c[each] for each in of))
        return float(c[place]) / whole if whole > _NOTHING * float(c.sum()) else math.inf

    return share


def _alone(place: int) -> Callable[[Floats], float]:
    return lambda c: float(c[place])


_LOGARITHMIC = Law(
    "logarithmic",
    "T = a + b log2 P + c P",
    (_one, np.log2, lambda p: p),
    (
        Shape("a", "time that does not depend on the number of ranks", _alone(0), seconds=True),
        Shape("b", "time added by each doubling of the ranks", _alone(1), seconds=True),
        Shape("c", "time added by each rank", _alone(2), seconds=True),
    ),
)
_CONTENTION = Shape("σ", "contention: the share of time that ranks wait for each other", _share(1, 0))
_AGREEMENT = Shape("κ", "coherence: the cost of agreement for each pair of ranks", _share(2, 0))

STRONG = (
    Law("linear", "T = T1 / P", (lambda p: 1 / p,), ()),
    Law(
        "Amdahl",
        "T = T1 (σ + (1 − σ) / P)",
        (lambda p: 1 / p, lambda p: 1 - 1 / p),
        (Shape("σ", "serial share of the time on one rank", _share(1, 0), most=1.0),),
        within=("linear",),
    ),
    Law(
        "USL",
        "C = C1 P / (1 + σ (P − 1) + κ P (P − 1))",
        (lambda p: 1 / p, lambda p: 1 - 1 / p, lambda p: p - 1),
        (_CONTENTION, _AGREEMENT),
        within=("linear", "Amdahl"),
    ),
    _LOGARITHMIC,
    Law(
        "divided",
        "T = a / P + b log2 P + c",
        (lambda p: 1 / p, np.log2, _one),
        (
            Shape("a", "time that ranks divide among them", _alone(0), seconds=True),
            Shape("b", "time added by each doubling of the ranks", _alone(1), seconds=True),
            Shape("c", "time that does not depend on the number of ranks", _alone(2), seconds=True),
        ),
        within=("linear", "Amdahl"),
    ),
)
WEAK = (
    Law("linear", "T = T1", (_one,), ()),
    Law(
        "Gustafson",
        "C = C1 (s + (1 − s) P)",
        (lambda p: p, _one),
        (Shape("s", "serial share of the time, whatever the number of ranks", _share(1, 0, 1), most=1.0),),
        of_work=True,
        within=("linear",),
    ),
    Law(
        "USL",
        "C = C1 P / (1 + σ (P − 1) + κ P (P − 1))",
        (_one, lambda p: p - 1, lambda p: p * (p - 1)),
        (_CONTENTION, _AGREEMENT),
        within=("linear",),
    ),
    replace(_LOGARITHMIC, within=("linear",)),
)
LAWS: Mapping[str, tuple[Law, ...]] = {"strong": STRONG, "weak": WEAK}


@dataclass(frozen=True)
class _Data:
    """Data of a fit by number of ranks: mean logarithm of times, number of launches; and total scatter."""

    ranks: Floats
    logs: Floats
    weights: Floats
    scatter: float
    measured: bool

    @property
    def launches(self) -> int:
        return round(float(self.weights.sum()))

    def without_last(self) -> _Data:
        return _Data(self.ranks[:-1], self.logs[:-1], self.weights[:-1], 0.0, self.measured)


def choose(kind: str, times: Mapping[int, Sequence[float]], measured: bool) -> Choice:
    """Choose among the laws of `kind`, "strong" or "weak", for `times`: T of each launch, by ranks.

    `measured` is False for simulations: they do not vary, so there are no intervals.
    """
    data = _data(times, measured)
    fits = tuple(fit for law in LAWS[kind] if (fit := _fit(law, data)))
    if len(fits) < 2:  # only the linear law, if any: there is nothing to compare it with
        least = min(len(law.columns) for law in LAWS[kind] if law.shapes) + 1
        told = f"cannot tell: {_counts(len(times))}, and telling laws apart needs {least} at least"
        return Choice(fits, None, told)
    return _choice(fits, data)


def fitted(law: Law, times: Mapping[int, Sequence[float]], measured: bool = True) -> Fit | None:
    """Return one law fitted to `times`, as in `choose`; None with too few numbers of ranks to check it."""
    return _fit(law, _data(times, measured))


def _data(times: Mapping[int, Sequence[float]], measured: bool) -> _Data:
    at = sorted(times)
    logs = [np.log(np.asarray(times[ranks], dtype=np.float64)) for ranks in at]
    return _Data(
        np.array(at, dtype=np.float64),
        np.array([each.mean() for each in logs]),
        np.array([len(each) for each in logs], dtype=np.float64),
        float(sum(((each - each.mean()) ** 2).sum() for each in logs)),
        measured,
    )


def _fit(law: Law, data: _Data) -> Fit | None:
    count, terms = len(data.ranks), len(law.columns)
    if count <= terms:
        return None
    columns, logs = _rows(law, data.ranks), _response(law, data.ranks, data.logs)
    coefficients = _least_squares(columns, logs, data.weights)
    if coefficients is None:
        return None
    off = np.log(columns @ coefficients) - logs
    distance = max(float(data.weights @ off**2), data.launches * _EXACT**2)
    within = data.launches - count
    contradicted = None
    freedom, variance = count - terms, distance / (count - terms)
    if data.measured and within > 0:
        scatter = max(data.scatter / within, _EXACT**2)
        contradicted = f_tail(variance / scatter, count - terms, within) < _LACK_OF_FIT
        if not contradicted:
            freedom = data.launches - terms
            variance = (distance + data.scatter) / freedom
    covariance = None
    if data.measured:
        covariance = _covariance(columns / (columns @ coefficients)[:, None], data.weights, variance)
    total = distance + data.scatter
    return Fit(
        law=law,
        coefficients=tuple(coefficients.tolist()),
        parameters=_parameters(law, columns, logs, data, coefficients, variance, freedom),
        off=math.sqrt(distance / data.launches),
        worst=float(np.abs(np.expm1(off)).max()),
        held_out=_held_out(law, data),
        contradicted=contradicted,
        aicc=_aicc(total, data.launches, terms + 1),
        squares=total,
        freedom=freedom,
        covariance=covariance,
    )


def _rows(law: Law, ranks: Floats) -> Floats:
    return np.stack([column(ranks) for column in law.columns], axis=1)


def _response(law: Law, ranks: Floats, logs: Floats) -> Floats:
    """Return the logarithms of the quantity that the law's columns add up to."""
    return np.log(ranks) - logs if law.of_work else logs


def _least_squares(columns: Floats, logs: Floats, weights: Floats) -> Floats | None:
    """Return nonnegative coefficients with the least squares of differences of logarithms.

    If a coefficient of the unconstrained fit is negative, every subset of the few columns is tried.
    """
    terms = columns.shape[1]
    best, least = None, math.inf
    for size in range(terms, 0, -1):
        for chosen in combinations(range(terms), size):
            part = _newton(columns[:, chosen], logs, weights)
            if part is None or (part < 0).any():
                continue
            off = float(weights @ (np.log(columns[:, chosen] @ part) - logs) ** 2)
            if off < least:
                best, least = np.zeros(terms), off
                best[list(chosen)] = part
        if size == terms and best is not None:
            break
    return best


def _newton(columns: Floats, logs: Floats, weights: Floats) -> Floats | None:
    """Return the result of Gauss and Newton's iteration, started from the fit of relative differences.

    None if it does not converge.
    """
    root = np.sqrt(weights)
    found: Floats = np.linalg.lstsq(columns * (root * np.exp(-logs))[:, None], root, rcond=None)[0]
    for _ in range(_ITERATIONS):
        sums = columns @ found
        if (sums <= 0).any():
            return None
        slopes = columns / sums[:, None]
        step = np.linalg.lstsq(slopes * root[:, None], root * (logs - np.log(sums)), rcond=None)[0]
        moved = float(np.abs(slopes @ step).max())
        found = found + step / max(1.0, 2 * moved)  # limits the step to that which would halve a sum
        if moved < 1e-10:
            break
    return found


def _covariance(slopes: Floats, weights: Floats, variance: float) -> Floats:
    return np.asarray(np.linalg.pinv(slopes.T @ (slopes * weights[:, None])) * variance)


def _parameters(
    law: Law,
    columns: Floats,
    logs: Floats,
    data: _Data,
    coefficients: Floats,
    variance: float,
    freedom: int,
) -> tuple[Parameter, ...]:
    """Return the parameters.

    Intervals are those of the law with unconstrained coefficients, cut off at the ends of the parameters'
    ranges.
    """
    free = _newton(columns, logs, data.weights) if data.measured else None
    covariance = None
    if free is not None and (columns @ free > 0).all():
        covariance = _covariance(columns / (columns @ free)[:, None], data.weights, variance)
    found = []
    for shape in law.shapes:
        value = min(shape.of(coefficients), shape.most)
        low = high = None
        if not math.isfinite(value):
            found.append(Parameter(shape.name, shape.meaning, None, None, None, shape.seconds))
            continue
        if free is not None and covariance is not None:
            slope = _slope(shape.of, free)
            half = t_quantile(LEVEL, freedom) * math.sqrt(max(0.0, float(slope @ covariance @ slope)))
            middle = shape.of(free)
            low = min(value, max(0.0, middle - half))
            high = max(value, min(shape.most, middle + half))
        found.append(Parameter(shape.name, shape.meaning, value, low, high, shape.seconds))
    return tuple(found)


def _slope(of: Callable[[Floats], float], at: Floats) -> Floats:
    """Return the derivatives, by central differences."""
    size = 1e-6 * float(np.abs(at).max())
    steps = np.eye(len(at)) * size
    return np.array([(of(at + step) - of(at - step)) / (2 * size) for step in steps])


def _held_out(law: Law, data: _Data) -> float | None:
    before = data.without_last()
    if len(before.ranks) < len(law.columns):
        return None
    columns, logs = _rows(law, data.ranks), _response(law, data.ranks, data.logs)
    found = _least_squares(columns[:-1], logs[:-1], before.weights)
    if found is None:
        return None
    off = math.log(float(columns[-1] @ found)) - float(logs[-1])
    return math.expm1(-off if law.of_work else off)


def _aicc(squares: float, values: int, parameters: int) -> float | None:
    if values - parameters - 1 < 1:
        return None
    return values * math.log(squares / values) + 2 * parameters * values / (values - parameters - 1)


def _choice(fits: tuple[Fit, ...], data: _Data) -> Choice:
    sound = [fit for fit in fits if not fit.contradicted]
    if not data.measured:
        return _nearest(fits, data, "")
    if not sound:
        return _nearest(fits, data, "no law agrees with the launches within their scatter; ")
    scores = {fit.name: fit.aicc for fit in _not_outdone(sound, data) if fit.aicc is not None}
    if not scores:
        return Choice(fits, None, f"cannot tell: {_counts(len(data.ranks))} are too few to weigh laws")
    best = min(scores.values())
    supported = [fit for fit in sound if scores.get(fit.name, math.inf) - best < _SUPPORTED]
    simple = [fit for fit in supported if scores[fit.name] - best <= _AS_GOOD]
    return _one_of(fits, supported, simple, "")


def _nearest(fits: tuple[Fit, ...], data: _Data, told: str) -> Choice:
    """Choose the law that, fitted to fewer ranks, predicts the largest number of ranks best."""
    far = {fit.name: abs(fit.held_out) for fit in fits if fit.held_out is not None}
    best = min(far.values(), default=math.inf)
    if best > _TOO_FAR:
        what = (
            f"no law, fitted to fewer, predicts {round(data.ranks[-1])} ranks within {100 * _TOO_FAR:.0f} %"
        )
        return Choice(fits, None, f"{told}cannot tell: {what}")
    as_near = [fit for fit in fits if far.get(fit.name, math.inf) <= max(_AS_NEAR * best, _NEAR)]
    return _one_of(fits, as_near, as_near, told, round(data.ranks[-1]))


def _one_of(
    fits: tuple[Fit, ...],
    supported: Sequence[Fit],
    simple: Sequence[Fit],
    told: str,
    predicted: int | None = None,
) -> Choice:
    """Choose the only supported law, or one of the simple laws that all others contain.

    `predicted`: the number of ranks whose predictions the laws were judged by, None if by significance.
    """
    names = [fit.name for fit in supported]
    if len(supported) == 1:
        others = [fit.name for fit in fits if fit is not supported[0]]
        words = f"{told}{names[0]}" + (f" rather than {listed(others, 'or')}" if others else "")
        return Choice(fits, supported[0], words)
    for fit in simple:
        rest = [other for other in supported if other is not fit]
        if all(fit.name in other.law.within for other in rest):
            more = listed([other.name for other in rest])
            s = "s" if len(rest) == 1 else ""
            why = (
                f"what {more} add{s} to it is not significant"
                if predicted is None
                else f"{more} predict{s} {predicted} ranks about as well"
            )
            return Choice(fits, fit, f"{told}{fit.name}; {why}")
    return Choice(fits, None, f"{told}cannot tell {listed(names)} apart", tuple(supported))


def _not_outdone(fits: Sequence[Fit], data: _Data) -> list[Fit]:
    """Return the fits without those for which a law containing them is significantly better."""

    def outdone(fit: Fit, other: Fit) -> bool:
        more = len(other.coefficients) - len(fit.coefficients)
        freedom = data.launches - len(other.coefficients)
        ratio = (fit.squares - other.squares) / more / (other.squares / freedom)
        return f_tail(ratio, more, freedom) < _BETTER_BY_CHANCE

    return [fit for fit in fits if not any(fit.name in o.law.within and outdone(fit, o) for o in fits)]


def _counts(count: int) -> str:
    return "one number of ranks" if count == 1 else f"{count} numbers of ranks"
