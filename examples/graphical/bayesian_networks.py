"""
Bayesian networks: who depends on whom
======================================

A directed graph says how a joint distribution falls into factors. What it leaves out are
independences, and they change with what is known: a chain and a fork are cut by knowledge of the
middle, a collider is opened by it. [G12, D37]
"""

# %%
# The three cases, and a descendant of a collider; shaded nodes are known.
import matplotlib.pyplot as plt
import numpy as np

from tenfold import BayesianNetwork
from tenfold.graphical import DirectedGraph, propagate_beliefs
from tenfold.plot import directed_graph
from tenfold.plot.style import palette_color, style_axes

cases = {
    "chain": {"a": [], "b": ["a"], "c": ["b"]},
    "fork": {"b": [], "a": ["b"], "c": ["b"]},
    "collider": {"a": [], "c": [], "b": ["a", "c"], "d": ["b"]},
}
fig, axes = plt.subplots(2, 4, figsize=(11, 5), layout="constrained")
shown = [("chain", []), ("fork", []), ("collider", []), ("collider", ["d"])]
shown += [("chain", ["b"]), ("fork", ["b"]), ("collider", ["b"]), ("collider", ["b", "d"])]
for ax, (name, known) in zip(axes.flat, shown, strict=True):
    directed_graph(DirectedGraph.of(cases[name]), known=known, separate=("a", "c"), ax=ax)
    ax.title.set_fontsize(8)

# %%
# The same as a page: a click shades a node.
from pathlib import Path
from tempfile import mkdtemp

from tenfold.report import write_separation

page = write_separation(
    DirectedGraph.of(cases["collider"]), Path(mkdtemp()) / "collider.html", separate=("a", "c")
)
print(f"{page.name} has {page.stat().st_size // 1024} KB and needs nothing else")

# %%
# A network with tables: rain, a sprinkler that hardly anybody turns on in the rain, and wet grass.
# Every question is a sum over the joint table, however it is computed.
states = {"rain": ["no", "yes"], "sprinkler": ["off", "on"], "wet": ["dry", "wet"]}
garden = BayesianNetwork.from_tables(
    {"rain": [], "sprinkler": ["rain"], "wet": ["sprinkler", "rain"]},
    {
        "rain": [0.8, 0.2],
        "sprinkler": [[0.6, 0.4], [0.99, 0.01]],
        "wet": [[[1.0, 0.0], [0.2, 0.8]], [[0.1, 0.9], [0.01, 0.99]]],
    },
    states,
)
print(garden.factorization(), "with", garden.n_parameters(), "parameters")
for evidence in ({}, {"wet": "wet"}, {"wet": "wet", "sprinkler": "on"}):
    answers = [
        garden.query("rain", evidence, method=method).to_dict()["yes"]
        for method in ("enumeration", "elimination", "junction_tree")
    ]
    print(f"p(rain | {evidence or 'nothing'}) =", ", ".join(f"{p:.4f}" for p in answers))
seen, done = garden.query("rain", {"sprinkler": "on"}), garden.do(sprinkler="on").query("rain")
print(f"p(rain) = {seen.table[1]:.4f} if it is seen on, {done.table[1]:.4f} if we turn it on")

# %%
# Draws: parents before children. With evidence, draws that disagree are thrown away, or all are
# weighed by the probability of the evidence; both come to the exact answer.
exact = garden.query("rain", {"wet": "wet"}).table[1]
sizes = np.geomspace(50, 20_000, 10).astype(int)
fig, ax = plt.subplots(figsize=(5.5, 3.2), layout="constrained")
weighted = [garden.estimate("rain", {"wet": "wet"}, n_samples=n, random_state=1)[1] for n in sizes]
rejected = [
    (
        garden.sample(n, evidence={"wet": "wet"}, method="rejection", random_state=1)["rain"]
        == "yes"
    ).mean()
    for n in sizes
]
ax.plot(sizes, weighted, "o-", color=palette_color(0), label="likelihood weighting")
ax.plot(sizes, rejected, "s-", color=palette_color(1), label="rejection")
ax.axhline(exact, color="0.3", linestyle="--", label="exact")
ax.set(xscale="log", xlabel="draws", ylabel="p(rain | wet)")
ax.legend(frameon=False)
style_axes(ax)

# %%
# Belief propagation passes messages between variables and tables. On a chain they are the messages
# of a hidden Markov model; after as many iterations as the chain is long nothing changes any more.
names = [f"x{t}" for t in range(8)]
chain = BayesianNetwork.from_tables(
    {name: names[t - 1 : t] if t else [] for t, name in enumerate(names)},
    {name: [0.5, 0.5] if t == 0 else [[0.9, 0.1], [0.2, 0.8]] for t, name in enumerate(names)},
)
found = propagate_beliefs(chain.factors({"x7": 1}))
print(f"{found.n_iter} iterations, exact: {found.exact}")
for name in names[:7]:
    direct = chain.query(name, {"x7": 1}).table[1]
    print(f"p({name} = 1 | x7 = 1): {found.beliefs[name][1]:.4f} by messages, {direct:.4f} by sums")
