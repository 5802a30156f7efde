"""
Bayesian networks from data
===========================

Which arrows are there, what do the tables say, and what follows where values are missing? A network
is planted, rows are drawn from it, and four methods look for it. [G12]
"""

# %%
# The clinic of Lauritzen and Spiegelhalter: two diseases, their causes, and what a doctor sees.
import matplotlib.pyplot as plt
import numpy as np

from tenfold import (
    PC,
    BayesianNetwork,
    CategoricalNB,
    ChowLiu,
    ExactSearch,
    HillClimbing,
    LinearGaussianBayesianNetwork,
    TANClassifier,
)
from tenfold.plot import directed_graph
from tenfold.plot.style import palette_color, style_axes

parents = {
    "travel": [], "smoker": [], "tub": ["travel"], "cancer": ["smoker"], "bronch": ["smoker"],
    "either": ["tub", "cancer"], "x-ray": ["either"], "dysp": ["either", "bronch"],
}  # fmt: skip
tables = {
    "travel": [0.8, 0.2], "smoker": [0.5, 0.5],
    "tub": [[0.98, 0.02], [0.7, 0.3]],
    "cancer": [[0.98, 0.02], [0.75, 0.25]],
    "bronch": [[0.7, 0.3], [0.4, 0.6]],
    "either": [[[0.99, 0.01], [0.01, 0.99]], [[0.01, 0.99], [0.01, 0.99]]],
    "x-ray": [[0.95, 0.05], [0.02, 0.98]],
    "dysp": [[[0.9, 0.1], [0.2, 0.8]], [[0.3, 0.7], [0.1, 0.9]]],
}  # fmt: skip
clinic = BayesianNetwork.from_tables(parents, tables)
rows = clinic.sample(10_000, random_state=0)
print(clinic.factorization())
print(f"{clinic.n_parameters()} parameters; the full table has {2 ** len(parents) - 1}")

# %%
# The best tree, a greedy search, the best graph of all, and tests of independence. Data cannot tell
# all directions: what can be told is the essential graph, and a name of another direction is no
# error.
truth = clinic.graph_
found = {
    "planted": truth,
    "ChowLiu": ChowLiu(root="smoker").fit(rows).network_.graph_,
    "HillClimbing": HillClimbing().fit(rows).network_.graph_,
    "ExactSearch": ExactSearch(max_parents=3).fit(rows).network_.graph_,
}
fig, axes = plt.subplots(1, 4, figsize=(13, 5), layout="constrained")
for ax, (name, graph) in zip(axes, found.items(), strict=True):
    directed_graph(graph, ax=ax)
    edges = {frozenset(arc) for arc in graph.arcs}
    right = len(edges & {frozenset(arc) for arc in truth.arcs})
    ax.set_title(f"{name}: {right} of {len(edges)} edges" if name != "planted" else name)
tests = PC(0.01).fit(rows).essential_graph_
print("PC settles", tests.arcs)
print("and leaves open", tests.edges)
print("of the planted graph", truth.essential_graph().edges, "cannot be told")

# %%
# Gaps: a third of all values is gone. Rows that know a whole family are few; EM uses all that is
# known, and its likelihood never falls. Lines show how far the tables are from the planted ones.
rng = np.random.default_rng(0)
shares = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]
errors = {"available": [], "em": []}
test = clinic.sample(4000, random_state=9)
for share in shares:
    lost = {"available": [], "em": []}
    for seed in range(8):
        small = clinic.sample(1000, random_state=seed)
        gaps = {v: np.where(rng.random(1000) < share, np.nan, c) for v, c in small.items()}
        for how, losses in lost.items():
            options = {"missing": how, "pseudo_count": 0.5, "states": dict(clinic.states_)}
            net = BayesianNetwork(truth.arcs, tol=1e-5, **options).fit(gaps)
            losses.append(clinic.score(test) - net.score(test))
    for how, losses in lost.items():
        errors[how].append(np.mean(losses))
fig, axes = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
for at, (how, line) in enumerate(errors.items()):
    axes[0].plot(shares, line, "o-", color=palette_color(at), label=f'missing="{how}"')
axes[0].set(xlabel="share of values that are missing", ylabel="nats per row above the truth")
axes[0].legend(frameon=False)
axes[1].plot(-net.history_["objective"], color=palette_color(1))
axes[1].set(xlabel="iteration of EM", ylabel="log-likelihood and log prior")
for ax in axes:
    style_axes(ax)

# %%
# A row with gaps is filled in by what is most probable together; one variable is predicted from all
# that a row knows of the others.
patient = {"travel": [1, 0], "smoker": [0, 1], "x-ray": [1, 1], "dysp": [None, 1]}
print({v: c.tolist() for v, c in clinic.impute(patient).items()})
print("p(cancer):", clinic.predict_proba(patient, "cancer")[:, 1].round(3).tolist())

# %%
# Tree-augmented naive Bayes lets each feature depend on one other. The class here says whether two
# bits are equal, and some noisy copies of them are there as well: no feature alone tells anything.
bits = rng.integers(0, 2, (3000, 2))
copies = np.where(rng.random((3000, 3)) < 0.8, bits[:, [0, 1, 1]], rng.integers(0, 2, (3000, 3)))
X, y = np.column_stack([bits, copies]), (bits[:, 0] == bits[:, 1]).astype(int)
for model in (CategoricalNB(), TANClassifier()):
    accuracy = model.fit(X[:2000], y[:2000]).score(X[2000:], y[2000:])
    print(f"{type(model).__name__}: {accuracy:.3f}")

# %%
# Numbers below a discrete cause: two machines fill bottles, one drifts. Where the machine is
# unknown, the answer is a mixture of two Gaussians, and what is seen makes one of them likely.
factory = LinearGaussianBayesianNetwork.from_parameters(
    {"machine": [], "level": ["machine"], "weight": ["level"]},
    {"level": ([0.0, 2.5], [], [0.3, 1.0]), "weight": (10.0, [2.0], 0.5)},
    {"machine": [0.6, 0.4]},
    {"machine": ["old", "new"]},
)
grid = np.linspace(-2.5, 5.5, 400)
fig, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
for at, evidence in enumerate([{}, {"weight": 12.0}, {"weight": 15.0}]):
    answer = factory.query("level", evidence)
    density = sum(
        w * np.exp(-0.5 * (grid - m[0]) ** 2 / c[0, 0]) / np.sqrt(2 * np.pi * c[0, 0])
        for w, m, c in zip(answer.weights, answer.means, answer.covariances, strict=True)
    )
    old = factory.query("machine", evidence).to_dict()["old"]
    label = f"given {evidence or 'nothing'}: p(old) = {old:.2f}"
    ax.plot(grid, density, color=palette_color(at), label=label)
ax.set(xlabel="level", ylabel="density", ylim=(0, 1.75))
ax.legend(loc="upper right", frameon=False, fontsize=8)
style_axes(ax)
