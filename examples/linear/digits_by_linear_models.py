"""
Handwritten digits by linear models
===================================

A linear model of images has one weight for each pixel, so what it has learned is itself an image.
Logistic, probit and softmax regression, with naive Bayes beside them, on pairs of digits, on few
examples and on all ten.
"""

# %%
# MNIST if its folder is named by TENFOLD_DATA, else scikit-learn's small digits. Pixels are from
# 0 to 1.
import os

import matplotlib.pyplot as plt
import numpy as np

from tenfold import (
    GaussianNB,
    LogisticRegression,
    MultinomialNB,
    ProbitRegression,
    datasets,
    plot,
)
from tenfold.metrics import ConfusionMatrix

rng = np.random.default_rng(0)
if os.environ.get("TENFOLD_DATA"):
    bunch = datasets.fetch_mnist()
    chosen = rng.permutation(len(bunch.target))[:9_000]
    X, y, SIDE = bunch.data[chosen].astype(np.float32) / 255, bunch.target[chosen], 28
    print("MNIST, 9,000 of its images: 6,000 to learn from, 3,000 to be judged by")
else:
    X, y = datasets.load_digits(return_X_y=True)
    order = rng.permutation(len(y))
    X, y, SIDE = X[order].astype(np.float32) / 16, y[order], 8
    print("No MNIST here (TENFOLD_DATA is not set): scikit-learn's 1,797 digits of 8 x 8 instead,")
    print("so the figures cannot be compared with those of the notebooks of 001")
third = len(y) // 3
X_train, y_train, X_test, y_test = X[third:], y[third:], X[:third], y[:third]


def only(X, y, digits):
    kept = np.isin(y, digits)
    return X[kept], y[kept]


# %%
# **Heat maps of weights.** The four pairs of the note. Red pixels speak for the second digit, blue
# ones for the first: one sees the strokes. Probit regression sees the same.
pairs = [(0, 1), (0, 7), (2, 3), (2, 8)]
figure, grid = plt.subplots(2, 4, figsize=(11, 5.4), layout="constrained")
for row, make in zip(grid, (LogisticRegression, ProbitRegression), strict=True):
    for ax, pair in zip(row, pairs, strict=True):
        A, t = only(X_train, y_train, pair)
        model = make(C=0.1, tol=1e-3).fit(A[:600], t[:600])
        right = model.score(*only(X_test, y_test, pair))
        weights = model.coef_[0].reshape(SIDE, SIDE)
        top = abs(weights).max()
        ax.imshow(weights, cmap="RdBu_r", vmin=-top, vmax=top)
        ax.set(xticks=[], yticks=[], title=f"{pair[1]} (red), {pair[0]} (blue): {right:.1%}")
    row[0].set_ylabel(make.__name__)
plt.show()

# %%
# **All 45 pairs** (Ex. 2.3.1): who is hard to tell from whom?
table = np.full((10, 10), np.nan)
for a in range(10):
    for b in range(a + 1, 10):
        A, t = only(X_train, y_train, (a, b))
        model = LogisticRegression(C=0.1, tol=1e-2).fit(A[:200], t[:200])
        table[a, b] = table[b, a] = 1 - model.score(*only(X_test, y_test, (a, b)))
figure, ax = plt.subplots(figsize=(6.6, 5.6), layout="constrained")
image = ax.imshow(100 * table, cmap="Blues")
for a in range(10):
    for b in range(10):
        if a != b:
            hue = "white" if table[a, b] > 0.6 * np.nanmax(table) else "black"
            ax.text(
                b, a, f"{100 * table[a, b]:.1f}", ha="center", va="center", color=hue, fontsize=8
            )
ax.set(xticks=range(10), yticks=range(10), xlabel="digit", ylabel="against digit")
figure.colorbar(image, label="errors in % (logistic, 200 images to learn from)")
plt.show()
hardest = {a: int(np.nanargmax(table[a])) for a in range(10)}
easiest = {a: int(np.nanargmin(table[a])) for a in range(10)}
print("hardest opponent of each digit:", hardest)
print("easiest opponent of each digit:", easiest)


# %%
# **Few examples.** 1, 10, 30 and 100 images of 4 and 7, or of 3 and 8; mean of 15 draws. One image
# shows one digit only: whatever is learned from it says that digit always. (The figures beside
# ours are those stored in the notebooks of 001, one run each, by gradient descent; its probit run
# had noisy pixels and predicted with the logistic function.)
def few(make, digits, size, draws=15):
    """Accuracy on unseen digits after `size` images, mean over draws."""
    A, t = only(X_train, y_train, digits)
    B, u = only(X_test, y_test, digits)
    scores = []
    for seed in range(draws):
        chosen = np.random.default_rng(seed).choice(len(t), size, replace=False)
        seen = np.unique(t[chosen])
        if len(seen) == 1:
            scores.append((u == seen[0]).mean())
        else:
            scores.append(make().fit(A[chosen], t[chosen]).score(B, u))
    return np.mean(scores)


SIZES = (1, 10, 30, 100)
NOTEBOOK = {
    ("logistic", (4, 7)): (0.507, 0.808, 0.966, 0.950),
    ("logistic", (3, 8)): (0.498, 0.853, 0.866, 0.925),
    ("probit", (4, 7)): (0.524, 0.653, 0.924, 0.968),
}
MAKERS = {
    "logistic": lambda: LogisticRegression(tol=1e-3),
    "probit": lambda: ProbitRegression(tol=1e-3),
    "multinomial naive Bayes": MultinomialNB,
}
found = {}
print(f"{'':<38}" + "".join(f"{size:>15}" for size in SIZES) + "   images")
print(f"{'':<38}" + 4 * f"{'notebook | here':>15}")
for digits in ((4, 7), (3, 8)):
    for name, make in MAKERS.items():
        here = found[name, digits] = [few(make, digits, size) for size in SIZES]
        there = NOTEBOOK.get((name, digits), (None,) * 4)
        cells = [
            f"{'-' if n is None else f'{n:.3f}'} | {h:.3f}"
            for n, h in zip(there, here, strict=True)
        ]
        print(f"{f'{digits[0]} or {digits[1]}, {name}':<38}" + "".join(f"{c:>15}" for c in cells))
harder = np.mean([found[n, (4, 7)][-1] - found[n, (3, 8)][-1] for n in MAKERS])
print(f"3 or 8 is harder, says the note; after 100 images it costs {100 * harder:.1f} points here")

# %%
# What logistic and probit regression know about 4 and 7 after so many images. Red pixels speak for
# 7, blue ones for 4. The table has the rates of unseen digits, with 7 as the positive class.
figure, grid = plt.subplots(2, 3, figsize=(9, 6.2), layout="constrained")
A, t = only(X_train, y_train, (4, 7))
B, u = only(X_test, y_test, (4, 7))
print(f"{'4 or 7':<24}{'accuracy':>9}{'TPR':>8}{'TNR':>8}{'PPV':>8}{'NPV':>8}{'LR+':>8}{'LR-':>8}")
for row, name in zip(grid, ("logistic", "probit"), strict=True):
    for ax, size in zip(row, SIZES[1:], strict=True):
        model = MAKERS[name]().fit(A[:size], t[:size])
        plot.weights(model, (SIDE, SIDE), ax=[ax])
        ax.set_title(f"{name}, {size} images")
        table = ConfusionMatrix.from_predictions(u, model.predict(B)).of(7)
        rates = (table.sensitivity, table.specificity, table.ppv, table.npv)
        cells = "".join(f"{rate:>8.3f}" for rate in rates)
        ratios = f"{table.lr_positive:>8.1f}{table.lr_negative:>8.3f}"
        share = model.score(B, u)
        print(f"{f'{name}, {size} images':<24}{share:>9.3f}{cells}{ratios}")
plt.show()

# %%
# **Three digits by softmax**: an image of weights for each of 0, 1 and 2.
A, t = only(X_train, y_train, (0, 1, 2))
softmax = LogisticRegression(C=0.1, tol=1e-3).fit(A[:1500], t[:1500])
print(f"0, 1, 2: {softmax.score(*only(X_test, y_test, (0, 1, 2))):.1%} right")
plot.weights(softmax, (SIDE, SIDE), names=["for 0", "for 1", "for 2"])
plt.show()


# %%
# **Five digits.** With more images the confusion matrix tends to a diagonal: of rows that sum to
# the number of images of each digit (not to N times the identity, as 001 has it).
def confusion(model, X, y, k):
    counts = np.zeros((k, k), int)
    np.add.at(counts, (y, model.predict(X)), 1)
    return counts


A, t = only(X_train, y_train, range(5))
B, u = only(X_test, y_test, range(5))
figure, row = plt.subplots(1, 3, figsize=(10.5, 4.3), layout="constrained")
for ax, size in zip(row, SIZES[1:], strict=True):
    counts = confusion(LogisticRegression(tol=1e-3).fit(A[:size], t[:size]), B, u, 5)
    ax.imshow(counts / counts.sum(axis=1, keepdims=True), cmap="Blues", vmin=0, vmax=1)
    for true, guess in np.ndindex(5, 5):
        hue = "white" if counts[true, guess] > 0.6 * counts[true].sum() else "black"
        ax.text(guess, true, counts[true, guess], ha="center", va="center", color=hue, fontsize=9)
    ax.set(xticks=range(5), yticks=range(5), xlabel="predicted", ylabel="true digit")
    ax.set_title(f"{size} images: {np.trace(counts) / counts.sum():.1%} right")
plt.show()
print(f"{'digits 0 to 4':<38}" + "".join(f"{size:>9}" for size in SIZES) + "   images")
for name in ("logistic", "multinomial naive Bayes"):
    right = [few(MAKERS[name], range(5), size, draws=10) for size in SIZES]
    who = "softmax" if name == "logistic" else name
    print(f"{who:<38}" + "".join(f"{share:>9.1%}" for share in right))

# %%
# **All ten.** Naive Bayes takes each pixel by itself; softmax lets them help each other.
softmax = LogisticRegression(C=0.03, tol=2e-3).fit(X_train, y_train)
gauss = GaussianNB(var_smoothing=0.1).fit(X_train, y_train)
counting = MultinomialNB().fit(X_train, y_train)
for name, model in (
    ("softmax", softmax),
    ("Gaussian naive Bayes", gauss),
    ("multinomial naive Bayes", counting),
):
    print(f"all ten digits, {name}: {model.score(X_test, y_test):.1%} right")
plot.weights(softmax, (SIDE, SIDE), names=[f"for {digit}" for digit in range(10)])
plt.show()
