"""
Many rows, few labels
=====================

Labels cost work, rows often none. Three ways to learn from rows without a label: labels that go
along a graph, a classifier that believes its own confident predictions, and EM. [X03]
"""

# %%
# Two moons with one label each. Rows count for each other by their distance; labels go from near to
# near, and the gap holds them up.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits, make_moons

from tenfold import (
    EMClassifier,
    LabelPropagation,
    LogisticRegression,
    MultinomialNB,
    SelfTrainingClassifier,
)
from tenfold.plot.style import palette_color, style_axes

X, y = make_moons(400, noise=0.06, random_state=0)
known = np.full(400, -1)
for label in (0, 1):
    known[np.flatnonzero(y == label)[0]] = label
model = LabelPropagation(gamma=100, max_iter=20_000).fit(X, known)
print(f"two labels, {np.mean(model.transduction_ == y):.1%} of 400 rows right")

fig, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained", sharey=True)
for ax, labels, title in zip(
    axes, (known, model.transduction_), ("what is known", "what follows"), strict=True
):
    for label, color in ((-1, "0.8"), (0, palette_color(0)), (1, palette_color(1))):
        at = labels == label
        ax.scatter(*X[at].T, s=60 if title == "what is known" and label >= 0 else 12, color=color)
    ax.set_title(title)
    style_axes(ax)
plt.show()

# %%
# Handwritten digits: accuracy on rows that were never seen, over the number of labels. With few
# labels EM gains most, since a naive Bayes model of each digit is a fair picture of it; with many
# it can lose, because the model is wrong and unlabeled rows outvote the labels.
X, y = load_digits(return_X_y=True)
order = np.random.default_rng(0).permutation(len(y))
X, y = X[order], y[order]
pool, test = np.arange(1300), np.arange(1300, len(y))
counts = [20, 40, 80, 160, 320]
scores: dict[str, list[float]] = {}
for n in counts:
    known = np.where(pool < n, y[pool], -1)
    models = {
        "naive Bayes, labels alone": MultinomialNB().fit(X[:n], y[:n]),
        "naive Bayes, EM": EMClassifier(MultinomialNB()).fit(X[pool], known),
        "logistic, labels alone": LogisticRegression(max_iter=500).fit(X[:n] / 16, y[:n]),
        "logistic, self-training": SelfTrainingClassifier(
            LogisticRegression(max_iter=500), threshold=0.9
        ).fit(X[pool] / 16, known),
    }
    for name, model in models.items():
        rows = X[test] if "Bayes" in name else X[test] / 16
        scores.setdefault(name, []).append(model.score(rows, y[test]))

fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for k, (name, values) in enumerate(scores.items()):
    style = "--" if "alone" in name else "-"
    ax.plot(counts, values, style, color=palette_color(k // 2), marker="o", label=name)
ax.set(xscale="log", xlabel="labels", ylabel="accuracy on unseen rows")
ax.set_xticks(counts, counts)
ax.minorticks_off()
ax.legend(frameon=False)
style_axes(ax)
plt.show()
