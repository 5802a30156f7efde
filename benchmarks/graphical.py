"""Bayesian networks against pyAgrum and pgmpy: the same network, rows and answers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import util
from typing import Any, NamedTuple

import numpy as np

from benchmarks.report import Row, Table, figure, tell, timed
from benchmarks.timing import interleaved, seconds, undisturbed

TITLE = "Bayesian networks"
HEADER = ["case", "peer", "ours (s)", "peer (s)", "ratio", "target", "ours", "peer"]
OURS = "tenfold"
MODULES = {"pyAgrum": "pyagrum", "pgmpy": "pgmpy"}
Calls = dict[str, Callable[[], float]]


class Case(NamedTuple):
    """One problem; the last columns of the table are numbers that should agree."""

    name: str
    peer: str
    target: float
    calls: Callable[[bool], Calls]
    tolerance: float = 1e-9
    rounds: int = 3


def random_network(nodes: int = 30, arcs: int = 39, states: int = 3, seed: int = 0) -> Any:
    """A network of random tables; later nodes have earlier ones as parents, at most three."""
    from tenfold import BayesianNetwork

    rng = np.random.default_rng(seed)
    names = [f"x{j}" for j in range(nodes)]
    parents: dict[str, list[str]] = {name: [] for name in names}
    for b in range(1, nodes):  # connected: pgmpy's trees need it
        parents[names[b]].append(names[int(rng.integers(max(b - 7, 0), b))])
    while sum(map(len, parents.values())) < arcs:
        a, b = sorted(rng.choice(nodes, 2, replace=False))
        if b - a < 8 and len(parents[names[b]]) < 3 and names[a] not in parents[names[b]]:
            parents[names[b]].append(names[a])
    tables = {
        v: rng.dirichlet(np.full(states, 0.7), [states] * len(above)) if above else
        rng.dirichlet(np.full(states, 2.0))
        for v, above in parents.items()
    }  # fmt: skip
    net = BayesianNetwork.from_tables(parents, tables)
    return net.set_params(nodes=names)


def rows_of(net: Any, n: int, seed: int = 1) -> np.ndarray:
    drawn = net.sample(n, random_state=seed)
    return np.column_stack([drawn[v] for v in net.nodes])


def to_pyagrum(net: Any) -> Any:
    import pyagrum as gum

    other = gum.BayesNet()
    for v in net.nodes:
        other.add(gum.LabelizedVariable(v, v, [str(s) for s in net.states_[v]]))
    for tail, head in net.graph_.arcs:
        other.addArc(tail, head)
    for v, above in net.graph_.parents.items():
        for index in np.ndindex(*net.tables_[v].shape[:-1]):
            place = dict(zip(above, map(int, index), strict=True))
            other.cpt(v)[place] = net.tables_[v][index].tolist()
    return other


def to_pgmpy(net: Any) -> Any:
    from pgmpy.factors.discrete import TabularCPD
    from pgmpy.models import DiscreteBayesianNetwork

    other = DiscreteBayesianNetwork(net.graph_.arcs)
    other.add_nodes_from(net.nodes)
    for v, above in net.graph_.parents.items():
        k = len(net.states_[v])
        values = np.moveaxis(net.tables_[v], -1, 0).reshape(k, -1)
        sizes = [len(net.states_[u]) for u in above]
        other.add_cpds(TabularCPD(v, k, values, list(above) or None, sizes or None))
    return other


def frame_of(net: Any, X: np.ndarray) -> Any:
    import pandas as pd

    return pd.DataFrame(X, columns=net.nodes)


def evidence_of(net: Any) -> dict[str, int]:
    row = rows_of(net, 1, seed=5)[0]
    return {net.nodes[at]: int(row[at]) for at in (len(net.nodes) // 3, len(net.nodes) - 1)}


def parameters(quick: bool) -> Calls:
    import pyagrum as gum

    from tenfold import BayesianNetwork

    net = random_network()
    X = rows_of(net, 20_000 if quick else 200_000)
    template, frame = to_pyagrum(net), frame_of(net, X)

    def ours() -> float:
        made = BayesianNetwork(net.graph_.arcs, nodes=net.nodes, pseudo_count=1.0).fit(X)
        return float(sum(table[..., 0].sum() for table in made.tables_.values()))

    def theirs() -> float:
        learner = gum.BNLearner(frame, template)
        learner.useSmoothingPrior(1)
        made = learner.learnParameters(template.dag())
        return float(sum(made.cpt(v).toarray()[..., 0].sum() for v in net.nodes))

    return {OURS: ours, "pyAgrum": theirs}


def greedy(quick: bool, *, peer: str = "pyAgrum") -> Calls:
    from tenfold import HillClimbing
    from tenfold.graphical._state_rows import open_states
    from tenfold.graphical._structure_base import FamilyScores

    small = peer == "pgmpy"
    net = random_network(10, 13) if small else random_network()
    X = rows_of(net, 2000 if small or quick else 20_000)
    frame = frame_of(net, X)
    term = FamilyScores(open_states(X, net.nodes), "bic", 1.0)

    def score(parents: dict[str, Any]) -> float:
        return sum(term(v, frozenset(above)) for v, above in parents.items())

    def ours() -> float:
        return score(HillClimbing(nodes=net.nodes).fit(X).network_.graph_.parents)

    def pyagrum() -> float:
        import pyagrum as gum

        learner = gum.BNLearner(frame, to_pyagrum(net))
        learner.useScoreBIC()
        learner.useNoPrior()
        learner.setMaxIndegree(3)
        learner.useGreedyHillClimbing()
        made = learner.learnBN()
        return score({v: [made.variable(i).name() for i in made.parents(v)] for v in net.nodes})

    def pgmpy() -> float:
        from pgmpy.estimators import HillClimbSearch

        search = HillClimbSearch(frame.astype("category"))
        made = search.estimate(
            scoring_method="bic-d", max_indegree=3, tabu_length=0, show_progress=False
        )
        return score({v: list(made.predecessors(v)) for v in net.nodes})

    return {OURS: ours, peer: pgmpy if small else pyagrum}


def marginals(quick: bool, *, peer: str = "pyAgrum") -> Calls:
    del quick
    net = random_network()
    known = evidence_of(net)
    target = next(v for v in net.nodes if v not in known)

    def ours() -> float:
        return float(net.marginals(known)[target][0])

    if peer == "pgmpy":
        from pgmpy.inference import BeliefPropagation

        other = to_pgmpy(net)

        def pgmpy() -> float:
            found = BeliefPropagation(other)
            found.calibrate()
            answer = found.query([target], evidence=known, show_progress=False)
            return float(answer.values[0])

        return {OURS: ours, peer: pgmpy}
    import pyagrum as gum

    template = to_pyagrum(net)

    def pyagrum() -> float:
        engine = gum.LazyPropagation(template)
        engine.setEvidence(known)
        engine.makeInference()
        found = {v: engine.posterior(v).toarray() for v in net.nodes}
        return float(found[target][0])

    return {OURS: ours, peer: pyagrum}


def single_queries(quick: bool) -> Calls:
    import pyagrum as gum

    net = random_network()
    template = to_pyagrum(net)
    rng = np.random.default_rng(0)
    questions = []
    for row in rows_of(net, 20 if quick else 200, seed=3):
        at = rng.choice(len(net.nodes), 4, replace=False)
        known = {net.nodes[j]: int(row[j]) for j in at[1:]}
        questions.append((net.nodes[at[0]], known))

    def ours() -> float:
        return float(sum(net.query(v, known).table[0] for v, known in questions))

    def theirs() -> float:
        total = 0.0
        for v, known in questions:
            engine = gum.LazyPropagation(template)
            engine.setEvidence(known)
            engine.addTarget(v)
            engine.makeInference()
            total += float(engine.posterior(v).toarray()[0])
        return total

    return {OURS: ours, "pyAgrum": theirs}


def rows_with_gaps(quick: bool, *, share: float = 0.2, peer: str = "pyAgrum") -> Calls:
    """Predict the last column; the peer answers some of the rows, and its time is scaled."""
    net = random_network()
    X = rows_of(net, 2000 if quick else 20_000, seed=2).astype(np.float64)
    X[np.random.default_rng(0).random(X.shape) < share] = np.nan
    target = net.nodes[12]
    few = 20 if quick else 200

    def ours() -> float:
        return float(net.predict_proba(X, target)[:few, 0].sum())

    if peer == "pgmpy":
        other = to_pgmpy(net)
        frame = frame_of(net, X[:few].astype(int)).drop(columns=[target])

        def pgmpy() -> float:
            found = other.predict_probability(frame)
            return float(found[f"{target}_0"].sum())

        return {OURS: ours, peer: pgmpy}
    import pyagrum as gum

    engine = gum.LazyPropagation(to_pyagrum(net))
    engine.addTarget(target)

    def pyagrum() -> float:
        total = 0.0
        for row in X[:few]:
            pairs = zip(net.nodes, row, strict=True)
            engine.setEvidence({v: int(x) for v, x in pairs if v != target and x == x})  # noqa: PLR0124
            engine.makeInference()
            total += float(engine.posterior(target).toarray()[0])
        return total

    return {OURS: ours, peer: pyagrum}


def draws(quick: bool) -> Calls:
    import pyagrum as gum

    net = random_network()
    n = 100_000 if quick else 1_000_000
    template = to_pyagrum(net)

    def ours() -> float:
        return float((net.sample(n, random_state=0)["x5"] == 0).mean())

    def theirs() -> float:
        generator = gum.BNDatabaseGenerator(template)
        generator.drawSamples(n)
        return float(net.query("x5").table[0])

    return {OURS: ours, "pyAgrum": theirs}


def em(quick: bool) -> Calls:
    import pyagrum as gum

    from tenfold import BayesianNetwork

    net = random_network(20, 19)  # a tree: pyAgrum refuses configurations of parents without rows
    X = rows_of(net, 1000 if quick else 2000).astype(np.float64)
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    frame = frame_of(net, X).map(lambda x: "?" if np.isnan(x) else str(int(x)))
    template = to_pyagrum(net)
    few = X[:200]

    def ours() -> float:
        how = {"missing": "em", "max_iter": 5, "tol": 0.0}
        made = BayesianNetwork(net.graph_.arcs, nodes=net.nodes, **how).fit(X)
        return made.score(few)

    def theirs() -> float:
        learner = gum.BNLearner(frame, template, ["?"])
        learner.useEM(1e-300)
        learner.EMsetMaxIter(5)
        made = learner.learnParameters(template.dag())
        other = BayesianNetwork.from_tables(
            net.graph_.parents,
            {v: _table_of(made, net, v) for v in net.nodes},
        ).set_params(nodes=net.nodes)
        return other.score(few)

    return {OURS: ours, "pyAgrum": theirs}


def _table_of(made: Any, net: Any, v: str) -> np.ndarray:
    cpt = made.cpt(v)
    order = list(reversed(cpt.names))  # the axes of an array of pyAgrum
    wanted = [*net.graph_.parents[v], v]
    return cpt.toarray().transpose([order.index(u) for u in wanted])


def chow_liu(quick: bool) -> Calls:
    from pgmpy.estimators import TreeSearch

    from tenfold import ChowLiu

    net = random_network(50, 60, 5)
    X = rows_of(net, 5000 if quick else 20_000)
    frame = frame_of(net, X)

    def ours() -> float:
        return float(len(ChowLiu(nodes=net.nodes).fit(X).edges_))

    def theirs() -> float:
        search = TreeSearch(frame.astype("category"), root_node="x0", n_jobs=1)
        return float(len(search.estimate(show_progress=False).edges()))

    return {OURS: ours, "pgmpy": theirs}


def cases() -> list[Case]:
    return [
        Case("parameters-200000x30", "pyAgrum", 10, parameters),
        Case("hill-climbing-20000x30", "pyAgrum", 1, greedy, 1e-2, rounds=2),
        Case("hill-climbing-2000x10", "pgmpy", 20, partial(greedy, peer="pgmpy"), 1e-2),
        Case("marginals-30", "pyAgrum", 1, marginals),
        Case("marginals-30-pgmpy", "pgmpy", 50, partial(marginals, peer="pgmpy")),
        Case("queries-200", "pyAgrum", 1, single_queries),
        Case("rows-with-gaps", "pyAgrum", 5, rows_with_gaps),
        Case("rows", "pgmpy", 50, partial(rows_with_gaps, share=0.0, peer="pgmpy")),
        Case("draws-1000000x30", "pyAgrum", 3, draws, 1e-2),
        Case(
            "em-2000x20", "pyAgrum", 2, em, 1e-2, rounds=1
        ),  # the peer takes 1 ms a row and iteration
        Case("chow-liu-20000x50", "pgmpy", 20, chow_liu, rounds=2),
    ]


def names() -> list[str]:
    return [case.name for case in cases()]


def run(wanted: list[str], *, quick: bool) -> Table:
    chosen = [case for case in cases() if case.name in wanted]
    missing = [case for case in chosen if util.find_spec(MODULES[case.peer]) is None]
    rows = [tell(case.name) or contest(case, quick=quick) for case in chosen if case not in missing]
    notes = ["the last columns are sums of the answers, or scores of what was found"]
    notes += ["rows, rows-with-gaps: the peer answers 200 of 20,000 rows, and its time is scaled"]
    notes += [f"left out: {case.name}, {case.peer} is not installed" for case in missing]
    return Table(TITLE, HEADER, rows, notes)


def contest(case: Case, *, quick: bool) -> Row:
    calls = case.calls(quick)
    found: dict[str, float] = {}
    scale = 100.0 if case.name.startswith("rows") else 1.0

    def turn(home: str, _: int) -> list[float]:
        taken = seconds(lambda: found.update({home: calls[home]()}))
        return [taken * (1.0 if home == OURS else scale)]

    with undisturbed():
        calls[OURS]()
    times = interleaved({h: partial(turn, h) for h in calls}, 1 if quick else case.rounds)
    ratio = times[case.peer].median / times[OURS].median
    good = abs(found[OURS] - found[case.peer]) <= case.tolerance * max(abs(found[OURS]), 1)
    verdict = ("met" if ratio >= case.target else "missed") if good else "not counted: differs"
    cells = [case.name, case.peer, timed(times[OURS]), timed(times[case.peer]), f"{ratio:.2f}x"]
    return Row([*cells, f"{case.target:g}x", *(figure(found[home], 8) for home in calls)], verdict)
