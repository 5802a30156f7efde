"""
Hidden states: filter, smoother, best path
==========================================

A hidden Markov model is a mixture whose component depends on the one before. What it knows about a
state depends on what it may look at: the steps so far (filter), all steps (smoother), or the one
path that explains all of them best (Viterbi). [G09, G10, D36]
"""

# %%
# A robot arm is in one of three positions, mostly stays there, and a noisy sensor reports where it
# is. Every step alone is ambiguous; its neighbours tell more.
import matplotlib.pyplot as plt
import numpy as np

from tenfold import CategoricalHMM, GaussianHMM, GaussianMixture
from tenfold.plot.style import palette_color, style_axes

arm = GaussianHMM(3)
arm.startprob_ = np.array([1.0, 0.0, 0.0])
arm.transmat_ = np.array([[0.95, 0.05, 0.0], [0.03, 0.94, 0.03], [0.0, 0.05, 0.95]])
arm.means_ = np.array([[0.0], [1.0], [2.0]])
arm.covars_ = np.full((3, 1), 0.5)
X, states = arm.sample(160, random_state=4)
filtered, smoothed, path = arm.filter(X), arm.predict_proba(X), arm.predict(X)

fig, axes = plt.subplots(4, 1, figsize=(8, 6), sharex=True, layout="constrained")
axes[0].plot(X[:, 0], ".", color="0.6", label="sensor")
axes[0].step(range(160), states, color="black", where="mid", label="position")
axes[0].legend(frameon=False, ncols=2, loc="upper left")
axes[0].set_ylim(-1.5, 6.5)
for ax, table, title in (
    (axes[1], filtered, "filter: steps so far"),
    (axes[2], smoothed, "smoother: all steps"),
):
    ax.stackplot(
        range(160),
        table.T,
        colors=[palette_color(k) for k in range(3)],
        labels=[f"position {k}" for k in range(3)],
        alpha=0.8,
    )
    ax.set(ylabel="probability", ylim=(0, 1))
    ax.set_title(title, fontsize=9, loc="left")
axes[1].legend(frameon=False, ncols=3, loc="lower right", bbox_to_anchor=(1, 0.95), fontsize=9)
axes[3].step(range(160), states, color="black", where="mid", label="position")
axes[3].step(range(160), path + 0.08, color=palette_color(3), where="mid", label="best path")
axes[3].legend(frameon=False, ncols=2, loc="upper left")
axes[3].set(xlabel="step", ylim=(-0.3, 3.3))
for ax in axes:
    style_axes(ax)
for name, guess in (
    ("nearest mean", np.abs(X - arm.means_.T).argmin(axis=1)),
    ("filter", filtered.argmax(axis=1)),
    ("smoother", smoothed.argmax(axis=1)),
    ("Viterbi", path),
):
    print(f"{name:13} {(guess == states).mean():.0%} of the steps right")

# %%
# Learned from frames without labels, beside a mixture, which takes each frame by itself. The chain
# smooths what the mixture flickers over; its log-likelihood rises with every iteration of EM.
parts = [arm.sample(200, random_state=seed)[0] for seed in range(10)]
frames = np.concatenate(parts)
chain = GaussianHMM(3, random_state=0, n_iter=60, tol=1e-4).fit(parts)
mixture = GaussianMixture(3, random_state=0).fit(frames)
order = chain.means_[:, 0].argsort()
fig, axes = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
ranks = mixture.means_[:, 0].argsort().argsort()
axes[0].step(range(160), states, color="black", where="mid", label="position")
axes[0].step(range(160), ranks[mixture.predict(X)] + 3.2, color=palette_color(1), label="mixture")
axes[0].step(
    range(160), order.argsort()[chain.predict(X)] + 6.4, color=palette_color(0), label="HMM"
)
axes[0].set(xlabel="step", yticks=[], ylim=(-0.5, 10.5), title="Frame by frame, and as a chain")
axes[0].legend(frameon=False, ncols=3, loc="upper left", fontsize=8)
axes[1].plot(-chain.history_["objective"], "o-", color=palette_color(0), markersize=3)
axes[1].set(xlabel="iteration of EM", ylabel="log-likelihood", title="It never falls")
for ax in axes:
    style_axes(ax)
print("transitions learned:", chain.transmat_[np.ix_(order, order)].round(2).tolist())

# %%
# DNA as a toy: regions rich in C and G beside ordinary ones. The trellis shows all paths through
# twelve letters; the width of a line is the posterior probability of that transition, and the best
# path is dark.
dna = CategoricalHMM(2)
dna.startprob_ = np.array([0.5, 0.5])
dna.transmat_ = np.array([[0.9, 0.1], [0.2, 0.8]])
dna.emissionprob_ = np.array([[0.3, 0.2, 0.2, 0.3], [0.05, 0.45, 0.45, 0.05]])  # A C G T
text = "ATTAGCGCGCTA"
x = np.array([["ACGT".index(letter)] for letter in text])
pairs, best = dna.transition_posteriors(x), dna.predict(x)
fig, ax = plt.subplots(figsize=(8, 2.2), layout="constrained")
for t in range(len(text) - 1):
    for i in range(2):
        for j in range(2):
            on_path = best[t] == i and best[t + 1] == j
            ax.plot(
                [t, t + 1],
                [i, j],
                color=palette_color(1) if on_path else "0.6",
                linewidth=6 * pairs[t, i, j] + 0.2,
                zorder=2 if on_path else 1,
            )
ax.scatter(
    np.tile(range(len(text)), 2), np.repeat([0, 1], len(text)), c="white", edgecolors="k", zorder=3
)
ax.set_xticks(range(len(text)), list(text))
ax.set_yticks([0, 1], ["ordinary", "rich in C, G"])
ax.set_ylim(-0.4, 1.4)
style_axes(ax)
scores, paths = dna.best_paths(x, 3)
for score, each in zip(scores, paths, strict=True):
    print(
        "".join(".+"[state] for state in each),
        f"probability given the text {np.exp(score - dna.score(x)):.3f}",
    )
