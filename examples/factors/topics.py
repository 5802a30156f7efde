"""
Topics by non-negative factors
==============================

Documents as sums of topics, topics as weights of words: non-negative factors of a table of
documents and words. With tf-idf and squared errors, and with counts and the Kullback-Leibler
divergence, which is the likelihood of an admixture.
"""

# %%
# **The messages** of ten newsgroups.
import os
import re
import warnings

import matplotlib.pyplot as plt
import numpy as np

from tenfold import NMF, MatrixFactorization, TfIdf, WordCounts, datasets
from tenfold.plot.style import COLORS, TEXT_COLOR

warnings.filterwarnings("ignore", message=".*did not converge")
if "TENFOLD_DATA" in os.environ:
    cut = ("headers", "footers", "quotes")
    news = datasets.fetch_20newsgroups(categories=datasets.TEN_GROUPS, remove=cut)
    messages, y, groups = [re.sub(r"\d+", "", t) for t in news.data], news.target, news.target_names
else:
    print("Without TENFOLD_DATA: 1,000 made-up messages of ten groups, 1,500 words.")
    rng = np.random.default_rng(0)
    groups, y = [f"group {j}" for j in range(10)], rng.integers(10, size=1000)
    common = rng.dirichlet(np.full(1500, 0.1))
    own = [0.5 * common + 0.5 * rng.dirichlet(np.full(1500, 0.02)) for _ in groups]
    messages = [" ".join(f"word{j}" for j in rng.choice(1500, 60, p=own[k])) for k in y]
options = {"stop_words": "english", "min_df": 5, "max_df": 0.1}
tfidf, counter = TfIdf(**options), WordCounts(**options)
X, counts = tfidf.fit_transform(messages), counter.fit_transform(messages)
words = tfidf.get_feature_names_out()
print(f"{X.shape[0]} messages, {X.shape[1]} words")

# %%
# **Ten topics**, from tf-idf and from counts. Each has a few heavy words; the group that uses it
# most stands beside it, and was not used.
models = {
    "tf-idf, squared errors": (NMF(10, max_iter=60), X),
    "counts, Kullback-Leibler": (
        NMF(10, solver="mu", beta_loss="kullback-leibler", max_iter=100),
        counts.astype(np.float64),
    ),
}
for name, (model, table) in models.items():
    W = model.fit_transform(table)
    share = W / np.maximum(W.sum(axis=1, keepdims=True), 1e-12)
    print(f"\n{name}")
    for j, topic in enumerate(model.components_):
        group = np.argmax([share[y == g, j].mean() for g in range(len(groups))])
        print(f"  {groups[group]:<26} {' '.join(words[np.argsort(-topic)[:7]])}")

# %%
# **The words of a topic**, as large as their weight.
model = models["tf-idf, squared errors"][0]
figure, axes = plt.subplots(2, 5, figsize=(12.5, 4.6), layout="constrained")
for ax, topic, color in zip(axes.flat, model.components_, 2 * COLORS[:7], strict=False):
    top = np.argsort(-topic)[:7]
    heights = 7 + 11 * topic[top] / topic[top[0]]
    at = 1 - np.cumsum(heights) / heights.sum() * 0.98
    for word, size, place in zip(words[top], heights, at, strict=True):
        ax.text(0.5, place, word, size=size, color=color, ha="center", va="bottom")
    ax.set_axis_off()
plt.show()

# %%
# **Both factors must be non-negative.** With free codes a topic can be subtracted, and topics mix
# what does not belong together: fewer of their heaviest words come from one group.


def purity(components):
    """Share of a topic's seven heaviest words that are most frequent in one and the same group."""
    by_group = np.array([np.asarray(X[y == g].mean(axis=0)).ravel() for g in range(len(groups))])
    home = by_group.argmax(axis=0)
    tops = [home[np.argsort(-topic)[:7]] for topic in components]
    return np.mean([np.bincount(top).max() / 7 for top in tops])


mixed = MatrixFactorization(10, dictionary_set="nonnegative", max_iter=10).fit(X)
shares = [purity(model.components_), purity(mixed.components_)]
figure, ax = plt.subplots(figsize=(6, 2.2), layout="constrained")
ax.barh(["codes, topics ≥ 0", "topics ≥ 0 only"], shares, color=COLORS[:2], height=0.6)
for i, value in enumerate(shares):
    ax.text(value + 0.01, i, f"{value:.0%}", va="center", color=TEXT_COLOR)
ax.set(xlim=(0, 1), xlabel="heaviest words of a topic that are at home in one group")
ax.spines[["top", "right"]].set_visible(False)
ax.invert_yaxis()
plt.show()
