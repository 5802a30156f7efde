"""Large data: the fit of each model against its peers and against the unavoidable."""

from __future__ import annotations

from functools import partial
from statistics import mean
from typing import Any

from benchmarks.case import Case, Data, rounds_of
from benchmarks.large import all_cases as cases
from benchmarks.libraries import INTELEX, OURS, PEERS, SKLEARN, fell_back, lack, load
from benchmarks.limits import unavoidable
from benchmarks.report import Row, Table, figure, tell, timed
from benchmarks.timing import Times, interleaved, seconds, undisturbed

TITLE = "Speed"
HEADER = ["case", "peer", "ours (s)", "peer (s)", "ratio", "target", "quality", "ours", "peer"]
HEADER += ["rounds", "limit", "limit (s)", "ours / limit"]
LIMIT = "limit"


def names() -> list[str]:
    return [case.name for case in cases()]


def run(wanted: list[str], *, quick: bool) -> Table:
    chosen = [case for case in cases() if case.name in wanted]
    contests = [tell(case.name) or Contest(case, quick=quick) for case in chosen]
    rows = [row for contest in contests for row in contest.rows]
    notes = [note for contest in contests for note in contest.notes]
    alike = {f"{case.quality.name} within {case.quality.tolerance:g}" for case in chosen}
    notes.append(f"as good means, as a share of the peer's figure: {', '.join(sorted(alike))}")
    return Table(TITLE, HEADER, rows, list(dict.fromkeys(notes)))


class Contest:
    """One case on all libraries that have its model; the data are gone when it is over."""

    def __init__(self, case: Case, *, quick: bool) -> None:
        self.case = case
        data = case.data(10 if quick else 1)
        self.notes = [f"{case.name}: {data.note}"] if data.note else []
        self.models: dict[str, list[Any]] = {OURS: []}
        self.models |= {peer: [] for peer in PEERS if self._known(peer)}
        self._warm_up(data.head(len(data.X) // 10))
        times = self._times(data, 2 if quick else case.rounds)
        quality = {library: self._quality(library, data) for library in self.models}
        self.rows = [self._row(peer, times, quality) for peer in PEERS if peer in times]

    def _known(self, peer: str) -> bool:
        problem = lack(peer, self.case.model)
        if problem:
            self.notes.append(f"left out: {problem}")
        return not problem

    def _warm_up(self, data: Data) -> None:
        with undisturbed():
            for library in self.models:
                if fell_back(partial(self._fitted, library, data, 0)) and library == INTELEX:
                    self.notes.append(f"{self.case.name}: {INTELEX} used scikit-learn's own code")

    def _fitted(self, library: str, data: Data, turn: int) -> Any:
        seed = {"random_state": turn} if self.case.seeded else {}
        model = load(library, self.case.model)(**self.case.params, **data.params, **seed)
        return model.fit(data.X) if data.y is None else model.fit(data.X, data.y)

    def _times(self, data: Data, rounds: int) -> dict[str, Times]:
        def fit(library: str, turn: int) -> list[float]:
            models = self.models[library]
            return [seconds(lambda: models.append(self._fitted(library, data, turn)))]

        def limit(_: int) -> list[float]:
            return [unavoidable(self.case.limit, data.X, self.models[OURS][-1])]

        fits = {library: partial(fit, library) for library in self.models}
        return interleaved(fits | {LIMIT: limit}, rounds)

    def _quality(self, library: str, data: Data) -> float:
        models = self.models[library] if self.case.seeded else self.models[library][-1:]
        return mean(self.case.quality.of(model, data) for model in models)

    def _row(self, peer: str, times: dict[str, Times], quality: dict[str, float]) -> Row:
        case, ours, limit = self.case, times[OURS].median, times[LIMIT].median
        ratio, target = times[peer].median / ours, case.target if peer == SKLEARN else 1.0
        good = case.quality.as_good(quality[OURS], quality[peer])
        verdict = ("met" if ratio >= target else "missed") if good else "not counted: worse"
        cells = [case.name, peer, timed(times[OURS]), timed(times[peer]), f"{ratio:.2f}x"]
        cells += [f"{target:g}x", case.quality.name]
        cells += [figure(quality[OURS], 6), figure(quality[peer], 6), self._rounds(peer)]
        cells += [case.limit.name, figure(limit), f"{ours / limit:.2f}x"]
        return Row(cells, verdict)

    def _rounds(self, peer: str) -> str:
        ours, theirs = (
            mean(rounds_of(model) for model in self.models[library]) for library in (OURS, peer)
        )
        return f"{ours:.3g} / {theirs:.3g}" if ours and theirs else ""
