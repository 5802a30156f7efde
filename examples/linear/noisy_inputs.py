"""
What noise does to linear classifiers
=====================================

How robust is what was learned? Two experiments that 001 asks for without giving results: noise on a
share of the pixels, for logistic and probit regression (Ex. 2.6.2, Fig. 24), and weak noise on many
words, for softmax and naive Bayes (Ex. 2.8.2).
"""

# %%
# **Pixels.** To a share of the pixels of each image we add a number between 0 and 1. Data: 4 and 7
# of MNIST if its folder is named by TENFOLD_DATA, else of scikit-learn's small digits.
import os

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse

from tenfold import LogisticRegression, MultinomialNB, ProbitRegression, TfIdf, datasets
from tenfold.plot.style import palette_color, palette_marker, style_axes

HERE = bool(os.environ.get("TENFOLD_DATA"))
if HERE:
    X, y = datasets.fetch_mnist(return_X_y=True)
    X, y, SIDE = X[:20_000] / 255, y[:20_000], 28
else:
    X, y = datasets.load_digits(return_X_y=True)
    X, SIDE = X / 16, 8
    print("No MNIST here (TENFOLD_DATA is not set): scikit-learn's digits of 8 x 8 instead")
four_or_seven = np.isin(y, (4, 7))
X, y = X[four_or_seven], y[four_or_seven]
half = len(y) // 2
RATIOS = (0.0, 0.1, 0.5, 0.9)

figure, row = plt.subplots(1, 4, figsize=(9, 2.7), layout="constrained")
for ax, ratio in zip(row, RATIOS, strict=True):
    image = datasets.corrupt_pixels(X[0], ratio=ratio, random_state=1)
    ax.imshow(image.reshape(SIDE, SIDE), cmap="gray_r", vmin=0, vmax=1.5)
    ax.set(xticks=[], yticks=[], title=f"{ratio:.0%} of the pixels")
plt.show()

# %%
# Learned from 10, 30 or 100 noisy images and judged by noisy ones; mean of 8 draws. (One image, as
# in the note's list of sizes, shows one digit only: half of the answers are right, whatever the
# noise.)
MODELS = {
    "logistic": lambda: LogisticRegression(tol=1e-3),
    "probit": lambda: ProbitRegression(tol=1e-3),
}
SIZES, DRAWS = (10, 30, 100), 8
X_test, y_test = X[half : half + 1000], y[half : half + 1000]
right = np.zeros((len(MODELS), len(RATIOS), len(SIZES), DRAWS))
for r, ratio in enumerate(RATIOS):
    noisy_test = datasets.corrupt_pixels(X_test, ratio=ratio, random_state=0)
    for s, size in enumerate(SIZES):
        for draw in range(DRAWS):
            rng = np.random.default_rng(draw)
            chosen = rng.choice(half, size, replace=False)
            noisy = datasets.corrupt_pixels(X[chosen], ratio=ratio, random_state=rng)
            for m, make in enumerate(MODELS.values()):
                fitted = make().fit(noisy, y[chosen])
                right[m, r, s, draw] = fitted.score(noisy_test, y_test)
print(f"{'share of noisy pixels':<24}" + "".join(f"{ratio:>8.0%}" for ratio in RATIOS))
for s, size in enumerate(SIZES):
    for m, name in enumerate(MODELS):
        cells = "".join(f"{share:>8.1%}" for share in right[m, :, s].mean(axis=1))
        print(f"{name + f', {size} images':<24}{cells}")
gap = (right[0] - right[1]).mean(axis=(1, 2))
print("logistic less probit, in points: " + ", ".join(f"{100 * g:+.1f}" for g in gap))

figure, row = plt.subplots(1, 3, figsize=(11, 3.5), layout="constrained", sharey=True)
for ax, s in zip(row, range(len(SIZES)), strict=True):
    for m, name in enumerate(MODELS):
        mean, spread = right[m, :, s].mean(axis=1), right[m, :, s].std(axis=1)
        look = {"color": palette_color(m), "marker": palette_marker(m), "capsize": 3, "lw": 2}
        ax.errorbar(np.array(RATIOS) + 0.012 * m, mean, spread, label=name, **look)
    ax.set(title=f"{SIZES[s]} images", xlabel="share of noisy pixels", ylim=(0.5, 1.01))
    style_axes(ax)
row[0].set_ylabel("share right, on noisy images")
row[0].legend(frameon=False, loc="lower left")
plt.show()

# %%
# The two models have nearly the same shape of loss, so they fall together. Noise that comes only
# afterwards, to a model learned from 500 clean images, does little harm: independent errors of many
# pixels cancel in the sum.
for name, make in MODELS.items():
    model = make().fit(X[:500], y[:500])
    shares = [
        model.score(datasets.corrupt_pixels(X_test, ratio=ratio, random_state=0), y_test)
        for ratio in RATIOS
    ]
    print(f"{name:<10} learned from 500 clean images: " + "  ".join(f"{s:.1%}" for s in shares))

# %%
# **Words.** Two newsgroups as tf-idf; to a share eps of all coordinates we add delta times a number
# between 0 and 1. One coordinate of noise is tiny, but there are thousands of them, where a message
# has some fifty words.
if HERE:
    groups = ["comp.graphics", "comp.sys.mac.hardware"]
    cut = ("headers", "footers", "quotes")
    news = datasets.fetch_20newsgroups(subset="train", categories=groups, remove=cut)
    documents, label = news.data, news.target
else:
    print("No newsgroups here: 800 invented messages of 2,000 words, two vocabularies that overlap")
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, 800)
    common = rng.dirichlet(np.full(2000, 0.1))
    own = [0.9 * common + 0.1 * rng.dirichlet(np.full(2000, 0.05)) for _ in range(2)]
    documents = [" ".join(f"w{j}" for j in rng.choice(2000, 30, p=own[k])) for k in label]
order = np.random.default_rng(1).permutation(len(label))
label = label[order]
words = TfIdf(min_df=4, stop_words="english")
T = sparse.csr_array(words.fit_transform([documents[i] for i in order]))
cut = int(0.8 * len(label))
print(
    f"{T.shape[0]} messages, {T.shape[1]} words, {T.nnz / T.shape[0]:.0f} in a message on average"
)

EPS, DELTA = (0.1, 0.5, 0.9), (0.001, 0.01, 0.1)
TEXT_MODELS = {
    "softmax": lambda: LogisticRegression(C=10, tol=1e-3),
    "multinomial naive Bayes": MultinomialNB,
}
clean_score = {
    name: make().fit(T[:cut], label[:cut]).score(T[cut:], label[cut:])
    for name, make in TEXT_MODELS.items()
}
score = {name: np.zeros((3, 3)) for name in TEXT_MODELS}
for i, eps in enumerate(EPS):
    for j, delta in enumerate(DELTA):
        noisy = datasets.corrupt_coordinates(T, ratio=eps, intensity=delta, random_state=0)
        noisy = noisy.toarray().astype(np.float32)
        for name, make in TEXT_MODELS.items():
            fitted = make().fit(noisy[:cut], label[:cut])
            score[name][i, j] = fitted.score(noisy[cut:], label[cut:])

figure, row = plt.subplots(1, 2, figsize=(9, 3.9), layout="constrained")
for ax, (name, table) in zip(row, score.items(), strict=True):
    image = ax.imshow(table, cmap="Blues", vmin=0.5, vmax=1)
    for i, j in np.ndindex(3, 3):
        hue = "white" if table[i, j] > 0.8 else "black"
        ax.text(j, i, f"{table[i, j]:.1%}", ha="center", va="center", color=hue)
    ax.set(xticks=range(3), xticklabels=DELTA, yticks=range(3), yticklabels=EPS)
    ax.set(xlabel="strength delta of the noise", ylabel="share eps of noisy coordinates")
    ax.set_title(f"{name}\n(without noise {clean_score[name]:.1%})", fontsize=11)
figure.colorbar(image, ax=list(row), label="share right")
plt.show()
worst = {name: clean_score[name] - table.min() for name, table in score.items()}
print(
    "lost at the worst noise: " + ", ".join(f"{n} {100 * w:.1f} points" for n, w in worst.items())
)
