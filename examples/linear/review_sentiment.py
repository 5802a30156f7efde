"""
Good or bad: the sentiment of reviews
=====================================

Project 1 of 003: tell from its words alone whether a product review is kind. Perceptron, averaged
perceptron and Pegasos look at one review after the other; each word has one weight, so one can read
what was learned.
"""

# %%
# Amazon's food reviews of the course, if their folder is named by TENFOLD_DATA; they have no free
# licence. Elsewhere we invent reviews from words with a kind or an unkind tendency.
import os

import matplotlib.pyplot as plt
import numpy as np

from tenfold import Pegasos, Perceptron, WordCounts, datasets
from tenfold.plot.style import palette_color, style_axes

KIND = ["delicious", "great", "love", "best", "perfect", "happy", "tasty", "favorite"]
UNKIND = ["awful", "stale", "waste", "worst", "bland", "broken", "disappointed", "refund"]


def invented(n, rng):
    """Reviews of 30 words; one or two of them tell."""
    target, data = rng.choice([-1, 1], n), []
    for sign in target:
        plain = [f"word{j}" for j in (rng.pareto(1.0, 28) * 20).astype(int) % 3000]
        mood = KIND if sign * (rng.random() - 0.15) > 0 else UNKIND
        data.append(" ".join([*plain, *rng.choice(mood, 2)]))
    return data, target


if os.environ.get("TENFOLD_DATA"):
    parts = {name: datasets.fetch_reviews(subset=name) for name in ("train", "val", "test")}
    order = parts["train"].order  # in which the course visits the reviews
    texts = {name: (part.data, part.target) for name, part in parts.items()}
    stop_words = parts["train"].stop_words
else:
    print("No reviews here (TENFOLD_DATA is not set): invented ones instead")
    rng = np.random.default_rng(0)
    sizes = {"train": 4000, "val": 500, "test": 500}
    texts = {name: invented(n, rng) for name, n in sizes.items()}
    order, stop_words = rng.permutation(4000), ["word0", "word1", "word2"]

# %%
# A review becomes the list of its words: 1 where a word occurs. The vocabulary is that of the
# training reviews alone.
WORD = r"\w+|[^\w\s]"  # words, and punctuation marks: "!" is a word, too
words = WordCounts("presence", token_pattern=WORD)
words.fit(texts["train"][0])
X = {name: words.transform(data) for name, (data, _) in texts.items()}
y = {name: target for name, (_, target) in texts.items()}
A, t = X["train"][order], y["train"][order]
print(f"{A.shape[0]} reviews, {A.shape[1]} words, {A.nnz / A.shape[0]:.0f} in a review")


# %%
# The three algorithms, ten epochs in the course's order, lambda = 0.01 for Pegasos. The notes
# report no accuracies, so there is nothing to compare ours with.
def three(epochs=10, strength=0.01):
    plan = {"max_iter": epochs, "tol": None, "shuffle": False}
    return {
        "perceptron": Perceptron(**plan),
        "averaged perceptron": Perceptron(average=True, **plan),
        "Pegasos": Pegasos(alpha=strength, **plan),
    }


print(f"{'':<22}{'in the notes':>13}{'seen':>9}{'validation':>12}")
for name, model in three().items():
    model.fit(A, t)
    print(f"{name:<22}{'-':>13}{model.score(A, t):>9.1%}{model.score(X['val'], y['val']):>12.1%}")

# %%
# **How long, and how strong?** More epochs make all of them know the training reviews by heart. The
# average forgets the last few steps' whims; Pegasos is held back by lambda.
EPOCHS = (1, 2, 5, 10, 25)
STRENGTHS = (0.001, 0.01, 0.1, 1.0)
curves = {
    name: np.array([
        [three(T)[name].fit(A, t).score(*part) for part in ((A, t), (X["val"], y["val"]))]
        for T in EPOCHS
    ])
    for name in three()
}  # fmt: skip
best = {name: EPOCHS[curve[:, 1].argmax()] for name, curve in curves.items()}
strengths = np.array([
    [Pegasos(alpha=s, max_iter=best["Pegasos"], tol=None, shuffle=False).fit(A, t).score(*part)
     for part in ((A, t), (X["val"], y["val"]))]
    for s in STRENGTHS
])  # fmt: skip

figure, row = plt.subplots(1, 2, figsize=(11, 4), layout="constrained", sharey=True)
for k, (name, curve) in enumerate(curves.items()):
    row[0].semilogx(EPOCHS, curve[:, 0], "--", color=palette_color(k), lw=1.3)
    row[0].semilogx(EPOCHS, curve[:, 1], "-o", color=palette_color(k), lw=2, ms=4, label=name)
row[1].semilogx(STRENGTHS, strengths[:, 0], "--", color=palette_color(2), lw=1.3, label="training")
row[1].semilogx(
    STRENGTHS, strengths[:, 1], "-o", color=palette_color(2), lw=2, ms=4, label="validation"
)
row[0].set(xlabel="epochs", ylabel="share right", title="dashed: training, line: validation")
row[1].set(xlabel="lambda", title=f"Pegasos, {best['Pegasos']} epochs")
row[0].set_xticks(EPOCHS, EPOCHS, minor=False)
row[0].minorticks_off()
for ax in row:
    ax.legend(frameon=False)
    style_axes(ax)
plt.show()

# %%
# **The choice, and then the test.** Each algorithm gets what was best on the validation reviews,
# and is then shown the test reviews. Beside it, to look at and not to choose by, the same without
# stop words and with counts for ones. The plain perceptron is what its last mistakes made of it, so
# it can be far off.
strength = STRENGTHS[strengths[:, 1].argmax()]
print(f"epochs chosen: {best}, lambda {strength}")
chosen = {name: three(epochs, strength)[name] for name, epochs in best.items()}
variants = {
    "all words, 0 or 1": WordCounts("presence", token_pattern=WORD),
    "no stop words": WordCounts("presence", token_pattern=WORD, stop_words=stop_words),
    "counts": WordCounts(token_pattern=WORD),
}
print(f"{'on the test reviews':<22}" + "".join(f"{name:>20}" for name in variants))
tests = {name: [] for name in chosen}
for variant in variants.values():
    train = variant.fit_transform(texts["train"][0])[order]
    test = variant.transform(texts["test"][0])
    for name, model in chosen.items():
        tests[name].append(model.fit(train, t).score(test, y["test"]))
for name, scores in tests.items():
    print(f"{name:<22}" + "".join(f"{score:>20.1%}" for score in scores))
print("500 test reviews: differences below 3 points may be chance")

# %%
# **The strongest words** of Pegasos, without stop words.
names = variants["no stop words"].fit(texts["train"][0]).get_feature_names_out()
train = variants["no stop words"].transform(texts["train"][0]).astype(float)[order]
weights = chosen["Pegasos"].fit(train, t).coef_[0]
top = np.argsort(weights)
print("kind:  ", ", ".join(names[top[:-11:-1]]))
print("unkind:", ", ".join(names[top[:10]]))
shown = np.concatenate([top[:12], top[-12:]])
figure, ax = plt.subplots(figsize=(7, 6), layout="constrained")
hues = [palette_color(0) if weights[j] > 0 else palette_color(1) for j in shown]
ax.barh(range(24), weights[shown], color=hues)
ax.set_yticks(range(24), names[shown])
ax.set(xlabel="weight: bad (left) or good (right)", title="words that decide")
style_axes(ax)
ax.grid(visible=False, axis="y")
plt.show()
