"""Every answer of one task x model x prompt x condition as columns, and what a metric is.

A record a row as Python objects would cost 1 kB; a row here is some 60 bytes, so that twenty thousand samples under eight
conditions stay in memory and are summed in milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from eyetest.stats import Factors, crossed, group_sums, groups

Status = Literal["scored", "unparsed", "refused", "blocked", "error", "bad_image", "unscored"]
"""What became of an answer: response and score in one word."""

STATUSES: tuple[Status, ...] = get_args(Status)
"""Columns.status is an index into this."""

Policy = Literal["as_wrong", "parsed_only"]
"""What an answer that cannot be read counts as: wrong (the headline), or nothing (beside it)."""

_FIRST_OUTSIDE = STATUSES.index("error")
"""Statuses before this one are inside n."""

Partner = Literal["none", "same", "other", "impossible"]
"""Whose picture was shown: none but the sample's own; one for which the same answer is right; one for which another is;
one for which another is that cannot be given here (not among the options)."""

PARTNERS: tuple[Partner, ...] = get_args(Partner)
"""Columns.partner is an index into this."""

_ABSENT: NDArray[Any] = np.empty(0)
"""Stands for a column that was not given."""


def _absent() -> NDArray[Any]:
    return _ABSENT


_OPTIONAL: Mapping[str, tuple[type, bool]] = {
    "said": (np.int64, False),
    "partner": (np.uint8, False),
    "followed": (np.bool_, False),
    "probabilities": (np.float64, True),
    "counts": (np.float64, True),
    "positions": (np.float64, True),
    "target_set": (np.uint64, True),
    "answer_set": (np.uint64, True),
}
"""Columns that may be left out: their type, and whether they are matrices (then of no width)."""

_WIDE = [name for name, (_, wide) in _OPTIONAL.items() if wide]


def code(status: Status) -> int:
    """The number that stands for `status` in a column."""
    return STATUSES.index(status)


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Answers, one a row: numpy arrays of equal length n."""

    sample: NDArray[np.int32]
    """Number of the sample within the task, the same under every condition and model: what pairs answers."""
    variant: NDArray[np.int16]
    """Number of the variant."""
    repeat: NDArray[np.int16]
    """Number of the repeat."""
    status: NDArray[np.uint8]
    """Index into STATUSES."""
    value: NDArray[np.float64]
    """Credit in [0, 1]; 0 unless scored."""
    target: NDArray[np.int32]
    """Index into `labels`; -1 where there is no shared label space."""
    answer: NDArray[np.int32]
    """Index into `labels`; -1 where nothing was read."""
    request: NDArray[np.int64]
    """Code of the distinct request."""
    cluster: NDArray[np.int64]
    """Code of Sample.cluster, or of the sample where it has none."""
    chance: NDArray[np.float64]
    """1 / number of options; nan where guessing has no closed form."""
    labels: tuple[str, ...] = ()
    """The label space that all samples share, or ()."""
    said: NDArray[np.int64] = field(default_factory=_absent)
    """Code of what was read, equal for equal answers to the same sample; 0 where nothing was read."""
    partner: NDArray[np.uint8] = field(default_factory=_absent)
    """Index into PARTNERS: whether somebody else's picture was shown, and what would be right for it."""
    followed: NDArray[np.bool_] = field(default_factory=_absent)
    """The answer read is what would be right for the picture that was shown in place of the sample's own."""
    probabilities: NDArray[np.float64] = field(default_factory=_absent)
    """(n, K) probability that the model gives each of `labels`, nan where it gave none; (n, 0) if it never did."""
    counts: NDArray[np.float64] = field(default_factory=_absent)
    """(n, c) additive statistics of the answer, `Score.counts`; (n, 0) where the scorer makes none."""
    positions: NDArray[np.float64] = field(default_factory=_absent)
    """(n, 3) of a choice whose options are rotated: place of the right option and of the chosen one among those shown, from 0
    (-1: none, or none that is unlike all others), and how many are shown; (n, 0) elsewhere."""
    target_set: NDArray[np.uint64] = field(default_factory=_absent)
    """(n, w) right labels of kind `labels` as bits: label i is bit i % 64 of word i // 64; (n, 0) for other kinds."""
    answer_set: NDArray[np.uint64] = field(default_factory=_absent)
    """(n, w) labels that were read, as bits; all 0 where nothing was read."""
    _shared: list[Factors] = field(default_factory=list, init=False, repr=False)
    """What goes together, once it was asked for: the same for every metric of these answers."""

    def __post_init__(self) -> None:
        for name, (kind, wide) in _OPTIONAL.items():
            if getattr(self, name) is _ABSENT:
                empty: NDArray[Any] = np.zeros((len(self.sample), 0) if wide else len(self.sample), kind)
                object.__setattr__(self, name, empty)  # frozen, and the length is known only now
        lengths = {name: len(getattr(self, name)) for name in _arrays()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"Columns: arrays of different length: {lengths}")

    def __len__(self) -> int:
        return len(self.sample)

    def take(self, rows: NDArray[Any]) -> Columns:
        """The rows that a boolean mask (n,) or an index array selects."""
        arrays = {name: getattr(self, name)[rows] for name in _arrays()}
        return Columns(**arrays, labels=self.labels)

    @staticmethod
    def concatenate(parts: Sequence[Columns]) -> Columns:
        """Rows of several columns, e.g. several kinds of one task; the label space is dropped, credit stays comparable."""
        joined = {name: np.concatenate([getattr(part, name) for part in parts]) for name in _arrays() if name not in _WIDE}
        joined["target"], joined["answer"] = np.full_like(joined["target"], -1), np.full_like(joined["answer"], -1)
        return Columns(**joined, labels=())

    def counted(self) -> Columns:
        """Rows inside n: all but failed calls, bad pictures and answers that a judge left unscored."""
        return self._where(self.status < _FIRST_OUTSIDE)

    def parsed(self) -> Columns:
        """Rows whose answer could be read."""
        return self._where(self.status == code("scored"))

    def _where(self, rows: NDArray[np.bool_]) -> Columns:
        """The rows of a mask; these very columns where it is all of them, as mostly it is."""
        return self if rows.all() else self.take(rows)

    def within(self, policy: Policy) -> Columns:
        """The rows in the denominator under `policy`."""
        return self.counted() if policy == "as_wrong" else self.parsed()

    def credit(self) -> NDArray[np.float64]:
        """`value`, 0 for everything that is not scored: (n,)."""
        return np.where(self.status == code("scored"), self.value, 0.0)

    def number_of(self, *statuses: Status) -> int:
        """How many rows have one of `statuses`."""
        return int(np.isin(self.status, [code(status) for status in statuses]).sum())

    def factors(self) -> Factors:
        """What goes together: answers that share a cluster or a sample, and, crossing these, answers to equal requests."""
        if not self._shared:
            self._shared.append(crossed(groups(self.cluster, self.sample), groups(self.request)))
        return self._shared[0]

    def keys(self) -> NDArray[np.int64]:
        """A code for every (sample, variant, repeat), ascending in this order: (n,)."""
        parts = self.sample.astype(np.int64) << 32, self.variant.astype(np.int64) << 16, self.repeat.astype(np.int64)
        return np.asarray(sum(parts), np.int64)

    def order(self) -> NDArray[np.intp]:
        """Rows by sample, variant and repeat, (n,): the same whatever order the answers came in."""
        return np.lexsort((self.repeat, self.variant, self.sample))


@cache
def _arrays() -> tuple[str, ...]:
    """Names of the columns that hold one value, or one row, an answer."""
    return tuple(each.name for each in fields(Columns) if each.name not in ("labels", "_shared"))


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """What a metric counts, as few distinct rows as there are: the total is all that its formula needs."""

    rows: NDArray[np.float64]
    """(m, k) distinct count rows."""
    index: NDArray[np.int64]
    """(n,) which row each answer in the denominator has."""

    def times(self) -> NDArray[np.int64]:
        """How many answers have each row: (m,)."""
        return np.bincount(self.index, minlength=len(self.rows)).astype(np.int64)

    def total(self) -> NDArray[np.float64]:
        """Sum over all answers: (k,)."""
        return np.asarray(self.times() @ self.rows, np.float64)

    def by_group(self, group: NDArray[np.integer[Any]]) -> NDArray[np.float64]:
        """Sum within each of G groups: (G, k)."""
        return np.stack([group_sums(column[self.index], group) for column in self.rows.T], axis=1)


class Metric(Protocol):
    """Counts that add up over answers, then a formula over their sum."""

    @property
    def name(self) -> str:
        """As printed and as in the signature."""
        ...

    @property
    def higher_is_better(self) -> bool:
        """Direction."""
        ...

    @property
    def additive(self) -> bool:
        """The value is the plain mean of one credit an answer; count rows are (credit, 1)."""
        ...

    @property
    def policy(self) -> Policy:
        """What an answer that cannot be read counts as."""
        ...

    def counts(self, columns: Columns) -> Counts:
        """Count rows of the answers in `columns.within(policy)`."""
        ...

    def value(self, totals: NDArray[np.float64]) -> NDArray[np.float64]:
        """The metric of each total: (..., k) -> (...); nan where undefined."""
        ...

    def best(self, columns: Columns) -> float:
        """What an oracle attains on these answers."""
        ...

    def chance(self, columns: Columns) -> float:
        """What a uniform guesser attains in the long run on these samples; nan where there is no closed form."""
        ...


def definable(metric: Metric, columns: Columns) -> bool:
    """Whether these answers hold what `metric` is made of: credit, a shared label space, or the scorer's counts.

    Class-wise metrics need a label space; without one there is nothing to print, not even a nan.
    """
    return metric.additive or bool(columns.labels) or columns.counts.shape[1] > 0


def point(metric: Metric, columns: Columns) -> float:
    """The metric's value without an interval."""
    return float(metric.value(metric.counts(columns).total()))


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Answers to the same (sample, repeat) under two conditions or by two models, one pair a row."""

    sample: NDArray[np.int32]
    """(n,) number of the sample."""
    repeat: NDArray[np.int16]
    """(n,) number of the repeat."""
    first: NDArray[np.float64]
    """(n,) credit under the first, mean over variants."""
    second: NDArray[np.float64]
    """(n,) credit under the second, mean over variants."""
    factors: Factors
    """What goes together: by cluster or sample, and, crossing these, by the requests of either side."""
    n_distinct: int
    """Distinct requests behind the side that has fewer."""
    n_unparsed: int
    """Pairs with an answer that could not be read."""
    n_refused: int
    """Pairs with a refused or blocked answer."""
    n_failed: int
    """Pairs left out because one side has no answer inside n."""
    n_single: int
    """(sample, repeat) that only one side was asked."""

    def __len__(self) -> int:
        return len(self.sample)


REPEATS = 1 << 16
"""More than any repeat number (int16): makes one key of sample and repeat."""


def pair_keys(columns: Columns | Pairs) -> NDArray[np.int64]:
    """A code for every (sample, repeat), ascending in this order: (n,)."""
    return columns.sample.astype(np.int64) * REPEATS + columns.repeat


def pair(first: Columns, second: Columns, policy: Policy = "as_wrong") -> Pairs:
    """Align two columns on (sample, repeat), taking the mean over variants where there are several.

    A pair needs an answer inside the denominator of `policy` on both sides.
    """
    keys_first, keys_second = np.unique(pair_keys(first)), np.unique(pair_keys(second))
    asked = np.intersect1d(keys_first, keys_second, assume_unique=True)
    sides = [columns.within(policy) for columns in (first, second)]
    keys = np.intersect1d(pair_keys(sides[0]), pair_keys(sides[1]))
    sides = [side.take(np.isin(pair_keys(side), keys)) for side in sides]
    return Pairs(
        sample=(keys // REPEATS).astype(np.int32),
        repeat=(keys % REPEATS).astype(np.int16),
        first=mean_by_key(sides[0], sides[0].credit(), keys),
        second=mean_by_key(sides[1], sides[1].credit(), keys),
        factors=_joint_factors(*sides),
        n_distinct=min(len(np.unique(side.request)) for side in sides),
        n_unparsed=keys_with(sides, "unparsed"),
        n_refused=keys_with(sides, "refused", "blocked"),
        n_failed=len(asked) - len(keys),
        n_single=len(keys_first) + len(keys_second) - 2 * len(asked),
    )


def among(columns: Columns, pairs: Pairs, rows: NDArray[np.bool_]) -> Columns:
    """The answers in `columns` that belong to the pairs selected by `rows`, a mask (n,) over `pairs`."""
    return columns.take(np.isin(pair_keys(columns), pair_keys(pairs)[rows]))


def mean_by_key(columns: Columns, values: NDArray[np.float64], keys: NDArray[np.int64]) -> NDArray[np.float64]:
    """Mean over variants of (n,) values: one for each of the sorted `pair_keys`."""
    place = np.searchsorted(keys, pair_keys(columns))
    total = np.bincount(place, weights=values, minlength=len(keys))
    return np.asarray(total / np.bincount(place, minlength=len(keys)), np.float64)


def keys_with(sides: Iterable[Columns], *statuses: Status) -> int:
    """How many (sample, repeat) have an answer with one of `statuses` on any side."""
    codes = [code(status) for status in statuses]
    return len(np.unique(np.concatenate([pair_keys(side)[np.isin(side.status, codes)] for side in sides])))


def _joint_factors(first: Columns, second: Columns) -> Factors:
    """What the pairs of each key share, over the answers of both sides."""
    split = len(first)
    none = -1 - np.arange(split + len(second))  # a code of its own for answers of the other side
    requests = [np.concatenate([first.request, none[split:]]), np.concatenate([none[:split], second.request])]
    clusters, samples = (np.concatenate([getattr(side, name) for side in (first, second)]) for name in ("cluster", "sample"))
    pairs = np.concatenate([pair_keys(first), pair_keys(second)])
    _, row = np.unique(pairs[:split], return_index=True)  # an answer of each key, in the order of `keys`
    return crossed(groups(clusters, samples)[row], groups(pairs, *requests)[row])
