"""
Asking for the right labels
===========================

A learner that may choose which rows are labeled needs fewer labels than one that is given rows at
random: it asks where it is least sure, or where the members of a committee disagree. [X03]
"""

# %%
# A threshold on a line. Asking next to the boundary halves the interval each time; random rows
# leave a gap of order one over their number.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from tenfold import ActiveLearner, LogisticRegression
from tenfold.plot.style import palette_color, style_axes

line = np.linspace(0, 1, 1001)[:, None]
right = (line[:, 0] > np.sqrt(0.5)).astype(int)
ends = [0, 1000]
for strategy in ("margin", "random"):
    learner = ActiveLearner(LogisticRegression(C=1e6), strategy=strategy, random_state=0)
    curve = learner.fit(line[ends], right[ends]).run(
        line, right, n_queries=10, X_test=line, y_test=right
    )
    print(f"{strategy:>7}: errors after each label", np.round(1 - curve.scores, 3).tolist())

# %%
# Digits: accuracy over labels, the mean of three beginnings.
X, y = load_digits(return_X_y=True)
X = X / 16
strategies = {
    "margin": "least margin",
    "entropy": "largest entropy",
    "vote_entropy": "committee of five",
    "random": "at random",
}
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for k, (strategy, name) in enumerate(strategies.items()):
    scores = []
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(y))
        first = np.concatenate([order[y[order] == c][:2] for c in range(10)])
        rest = np.setdiff1d(order[:1200], first)
        test = order[1200:]
        learner = ActiveLearner(
            LogisticRegression(C=10, max_iter=300),
            strategy=strategy,
            batch_size=20,
            random_state=seed,
        )
        curve = learner.fit(X[first], y[first]).run(
            X[rest], y[rest], n_queries=160, X_test=X[test], y_test=y[test]
        )
        scores.append(curve.scores)
    color = "0.6" if strategy == "random" else palette_color(k)
    ax.plot(curve.n_labels, np.mean(scores, axis=0), color=color, marker="o", label=name)
ax.set(xlabel="labels", ylabel="accuracy on unseen rows")
ax.legend(frameon=False)
style_axes(ax)
plt.show()
