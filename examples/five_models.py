"""
Five models on handwritten digits
=================================

Five models meet 1,797 digits of 8 x 8 pixels: two that only look (principal components, k-means)
and three that predict (naive Bayes, ridge, softmax). All of them learn by folding over rows, so
the same five lines would fit a file that is larger than memory.
"""

# %%
# The data, and a third of it set aside.
from pathlib import Path
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_digits
from sklearn.metrics import normalized_mutual_info_score
from sklearn.model_selection import train_test_split

from tenfold import PCA, GaussianNB, KMeans, LogisticRegression, Ridge

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X, y, test_size=1 / 3, random_state=0, stratify=y
)
one_hot = np.eye(10)[y_train]


# %%
# Each model with what it is judged by on the digits that it has not seen.
def share_of_variance(model):
    rebuilt = model.inverse_transform(model.transform(X_test))
    lost = ((X_test - rebuilt) ** 2).sum() / ((X_test - X_train.mean(axis=0)) ** 2).sum()
    return f"{1 - lost:.1%} of the variance with {model.n_components_} of 64 numbers"


def agreement(model):
    score = normalized_mutual_info_score(y_test, model.predict(X_test))
    return f"{score:.2f} mutual information with the labels it never saw"


def accuracy(model):
    guess = model.predict(X_test)
    guess = guess.argmax(axis=1) if guess.ndim == 2 else guess
    return f"{(guess == y_test).mean():.1%} of the digits right"


TASKS = [
    (PCA(n_components=16), None, share_of_variance),
    (KMeans(n_clusters=10, n_init=4, random_state=0), None, agreement),
    (GaussianNB(var_smoothing=1e-2), y_train, accuracy),
    (Ridge(alpha=10.0), one_hot, accuracy),
    (LogisticRegression(C=0.01), y_train, accuracy),
]

GaussianNB().fit(X_train, y_train)  # compiles once per machine; not part of the timings
KMeans(n_clusters=2, random_state=0).fit(X_train)

table = Table(title="1,198 digits to learn from, 599 to be judged by")
for column in ("model", "fit", "on unseen digits"):
    table.add_column(column, justify="right" if column == "fit" else "left")
for model, target, judge in TASKS:
    start = perf_counter()
    model.fit(X_train, target)
    table.add_row(type(model).__name__, f"{1000 * (perf_counter() - start):.1f} ms", judge(model))
Console(width=88).print(table)

# %%
# What they have seen: a map of the digits, ten typical ones, the strokes that speak for each digit,
# and the few that are taken for another.
pca, kmeans, _, _, softmax = (model for model, _, _ in TASKS)
figure = plt.figure(figsize=(11, 6.6), layout="constrained")
(map_part, centre_part), (weight_part, confusion_part) = figure.subfigures(2, 2)


def draw_map(part):
    axes = part.subplots()
    points = pca.transform(X)
    for digit in range(10):
        own = points[y == digit]
        axes.scatter(own[:, 0], own[:, 1], s=5, color=f"C{digit}", alpha=0.6)
        axes.text(*np.median(own[:, :2], axis=0), digit, fontsize=15, weight="bold", ha="center")
    axes.set(xticks=[], yticks=[], xlabel="first component", ylabel="second component")
    part.suptitle("PCA: a map of the digits")


def draw_images(part, images, title, **style):
    for axes, image in zip(part.subplots(2, 5).flat, images, strict=True):
        axes.imshow(image.reshape(8, 8), **style)
        axes.set(xticks=[], yticks=[])
    part.suptitle(title)


def draw_confusion(part):
    axes = part.subplots()
    counts = np.zeros((10, 10), int)
    np.add.at(counts, (y_test, softmax.predict(X_test)), 1)
    axes.imshow(np.log1p(counts), cmap="Blues")
    for true, guess in zip(*np.nonzero(counts), strict=True):
        colour = "white" if counts[true, guess] > 20 else "black"
        axes.text(guess, true, counts[true, guess], ha="center", va="center", color=colour)
    axes.set(xticks=range(10), yticks=range(10), xlabel="predicted", ylabel="true")
    part.suptitle("LogisticRegression: who is taken for whom")


draw_map(map_part)
draw_images(centre_part, kmeans.cluster_centers_, "KMeans: ten typical digits", cmap="gray_r")
limit = np.abs(softmax.coef_).max()
draw_images(
    weight_part,
    softmax.coef_,
    "LogisticRegression: strokes for (red) and against (blue) 0 to 9",
    cmap="RdBu_r",
    vmin=-limit,
    vmax=limit,
)
draw_confusion(confusion_part)

if __name__ == "__main__":
    picture = Path("demo-output") / "five_models.png"
    picture.parent.mkdir(exist_ok=True)
    figure.savefig(picture, dpi=110)
    Console().print(f"picture: {picture}")
