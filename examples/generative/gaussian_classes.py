"""
Gaussian classes: ellipses, boundaries and made-up data
=======================================================

A generative classifier says how data come about: first a class, by its prior, then a row, by the
density of that class. Bayes' rule turns this round and gives the class of a row. With Gaussian
densities the covariance decides the boundary.
"""

# %%
# **How free the covariances are.** One for all classes makes the boundaries straight; one for each
# makes them conics. Along the axes only, the model is Gaussian naive Bayes. Ellipses hold 86 % of a
# class: two standard deviations.
import matplotlib.pyplot as plt
import numpy as np

from tenfold import (
    GaussianClassifier,
    GaussianNB,
    LinearDiscriminantAnalysis,
    LogisticRegression,
    QuadraticDiscriminantAnalysis,
    plot,
)
from tenfold.plot.style import palette_color, palette_marker, style_axes

rng = np.random.default_rng(4)
shapes = np.array([[[1.3, 0.9], [0.0, 0.5]], [[0.5, -0.2], [0.0, 0.9]], [[0.6, 0.0], [0.0, 0.6]]])
centres = np.array([[-1.5, 0.5], [1.6, 1.2], [0.6, -2.2]])
y = rng.choice(3, 240, p=[0.5, 0.3, 0.2])
X = centres[y] + np.einsum("nij,ni->nj", shapes[y], rng.normal(size=(240, 2)))


def ellipse(mean, covariance, deviations=2.0):
    """Points at so many standard deviations from the mean."""
    turn = np.linspace(0, 2 * np.pi, 200)
    circle = np.stack([np.cos(turn), np.sin(turn)])
    return mean[:, None] + deviations * np.linalg.cholesky(covariance) @ circle


def covariances(model):
    """Covariance of each class as a matrix, whatever the model keeps."""
    C = model.covariances_
    if model.covariance == "tied":
        return np.stack([C] * 3)
    return C if C.ndim == 3 else np.stack([np.eye(2) * v for v in C])


figure, panels = plt.subplots(
    2, 2, figsize=(9.6, 8), layout="constrained", sharex=True, sharey=True
)
for ax, kind in zip(panels.flat, ["full", "tied", "diagonal", "spherical"], strict=True):
    model = GaussianClassifier(kind).fit(X, y)
    plot.decision_boundary(model, X, y, ax=ax)
    ax.get_legend().remove()
    limits = ax.axis()
    for c, covariance in enumerate(covariances(model)):
        ax.plot(*ellipse(model.means_[c], covariance), color=palette_color(c), lw=2)
    ax.axis(limits)
    ax.set_title(f"{kind}: {model.score(X, y):.0%} of the rows right")
plt.show()

# %%
# The old names are special cases: linear and quadratic discriminant analysis, and naive Bayes.
pairs = {
    "tied, and linear discriminants": ("tied", LinearDiscriminantAnalysis()),
    "full, and quadratic discriminants": ("full", QuadraticDiscriminantAnalysis()),
    "diagonal, and Gaussian naive Bayes": ("diagonal", GaussianNB(var_smoothing=0.0)),
}
for name, (kind, other) in pairs.items():
    one = GaussianClassifier(kind, reg_covar=0.0).fit(X, y).predict_proba(X)
    apart = np.abs(one - other.fit(X, y).predict_proba(X)).max()
    print(f"{name}: posteriors differ by at most {apart:.0e}")

# %%
# **Making up data.** A model that knows how rows come about can tell more of them. From many of its
# own rows it learns itself again.
model = GaussianClassifier("full").fit(X, y)
made, which = model.sample(240, random_state=0)
figure, panels = plt.subplots(
    1, 2, figsize=(9.6, 4.2), layout="constrained", sharex=True, sharey=True
)
for ax, rows, labels, title in zip(panels, (X, made), (y, which), ("data", "made up"), strict=True):
    for c in range(3):
        look = {"color": palette_color(c), "marker": palette_marker(c), "s": 22, "alpha": 0.7}
        ax.scatter(*rows[labels == c].T, **look, label=f"class {c}")
    ax.set(title=title, xlabel="$x_1$", ylabel="$x_2$")
    style_axes(ax)
panels[0].legend(frameon=False)
plt.show()

print("made-up rows   largest error of a prior, a mean, a covariance")
for n in (100, 1_000, 10_000, 100_000):
    again = GaussianClassifier("full").fit(*model.sample(n, random_state=1))
    errors = [
        np.abs(getattr(again, name) - getattr(model, name)).max()
        for name in ("priors_", "means_", "covariances_")
    ]
    print(f"{n:>12,}   {errors[0]:.4f}  {errors[1]:.4f}  {errors[2]:.4f}")

# %%
# **A logistic function.** With one covariance for two classes, the posterior is a logistic function
# of a linear score, :math:`w = \Sigma^{-1}(\mu_1 - \mu_0)`. Logistic regression learns such a score
# without a story of x. Where the story is true, both find the same plane; here is how fast.
w_true = np.linalg.solve([[1.0, 0.6], [0.6, 1.0]], [1.5, 0.5])
print(
    "rows     angle to the true direction, mean of 20 samples: discriminants, logistic regression"
)


def angle(w):
    """Degrees between a direction and the true one."""
    cosine = w @ w_true / np.linalg.norm(w) / np.linalg.norm(w_true)
    return np.degrees(np.arccos(min(cosine, 1.0)))


for n in (30, 100, 300, 1000):
    found = []
    for seed in range(20):
        draw = np.random.default_rng(seed)
        label = np.arange(n) % 2
        rows = draw.multivariate_normal([0, 0], [[1.0, 0.6], [0.6, 1.0]], n)
        rows += label[:, None] * [1.5, 0.5]
        models = LinearDiscriminantAnalysis(), LogisticRegression(C=1e6)
        found.append([angle(each.fit(rows, label).coef_[0]) for each in models])
    linear, logistic = np.mean(found, axis=0)
    print(f"{n:>4}     {linear:.1f}  {logistic:.1f}")

# %%
# **Directions that tell classes apart.** Linear discriminants also project: along the directions in
# which the means differ most, measured in standard deviations within classes.
from tenfold.datasets import load_wine

wine = load_wine()
project = LinearDiscriminantAnalysis().fit(wine.data, wine.target)
plane = project.transform(wine.data)
figure, ax = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
for c in range(3):
    look = {"color": palette_color(c), "marker": palette_marker(c), "s": 24, "alpha": 0.8}
    ax.scatter(*plane[wine.target == c].T, **look, label=wine.target_names[c].replace("_", " "))
shares = project.explained_variance_ratio_
ax.set(
    xlabel=f"first direction ({shares[0]:.0%} of what lies between classes)",
    ylabel=f"second direction ({shares[1]:.0%})",
    title="178 wines, 13 columns, two discriminants",
)
style_axes(ax)
ax.legend(frameon=False)
plt.show()
