"""
How many factors? Chosen by validation
======================================

The rank K of a factorization is chosen on ratings that the fit did not see. A penalty makes the
choice less sharp, and sampling from the posterior less still.
"""

# %%
# Ratings of MovieLens 100k (published fold u1), or invented ones of rank 3 with noise.
import os

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GridSearchCV, KFold

from tenfold import ALS, BayesianPMF, KNNRecommender
from tenfold.datasets import fetch_movielens_100k
from tenfold.plot.style import palette_color, style_axes

if "TENFOLD_DATA" in os.environ:
    (X, y), (X_test, y_test) = (
        fetch_movielens_100k(part=f"u1.{part}", return_X_y=True) for part in ("base", "test")
    )
else:
    rng = np.random.default_rng(0)
    X = np.argwhere(rng.random((400, 200)) < 0.15)
    U, V = rng.normal(size=(400, 3)), rng.normal(size=(200, 3))
    y = np.clip(
        3.5 + 0.5 * (U[X[:, 0]] * V[X[:, 1]]).sum(axis=1) + 0.5 * rng.normal(size=len(X)), 1, 5
    )
    held = rng.random(len(X)) < 0.2
    X, X_test, y, y_test = X[~held], X[held], y[~held], y[held]

# %%
# A recommender is a regressor of pairs (user, item), so that scikit-learn's search takes it. Two
# penalties and six ranks in five folds of the training part:
grid = {"n_factors": [0, 1, 2, 5, 10, 20], "regularization": [0.05, 0.13]}
search = GridSearchCV(
    ALS(random_state=0, max_iter=100), grid, cv=KFold(5, shuffle=True, random_state=0),
    scoring="neg_root_mean_squared_error",
).fit(X, y)  # fmt: skip
print("chosen:", search.best_params_)

figure, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
results = search.cv_results_
for color, lam in enumerate(grid["regularization"]):
    chosen = results["param_regularization"] == lam
    ax.plot(
        range(len(grid["n_factors"])), -results["mean_test_score"][chosen], "o-",
        color=palette_color(color), label=f"penalty {lam}",
    )  # fmt: skip
ax.set(xlabel="number K of factors", ylabel="RMSE on held-out ratings")
ax.set_xticks(range(len(grid["n_factors"])), grid["n_factors"])
ax.legend(frameon=False)
style_axes(ax)
plt.show()


# %%
# On the test part, beside neighbors, biases alone and the posterior mean: `BayesianPMF` has no
# penalty to choose, and its error bars say which predictions to trust.
def rmse(predicted):
    return np.sqrt(np.mean((predicted - y_test) ** 2))


print(f"chosen ALS      {rmse(search.predict(X_test)):.4f}")
print(f"biases alone    {rmse(ALS(0).fit(X, y).predict(X_test)):.4f}")
neighbors = KNNRecommender(metric="pearson", center="baseline", shrinkage=50, min_similarity=0)
print(f"40 neighbors    {rmse(neighbors.fit(X, y).predict(X_test)):.4f}")
sampler = BayesianPMF(10, n_samples=40, random_state=0).fit(X, y)
mean, std = sampler.predict(X_test, return_std=True)
print(f"posterior mean  {rmse(mean):.4f}")

figure, ax = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
tenth = np.argsort(std).reshape(-1)[: len(std) // 10 * 10].reshape(10, -1)
promised, found = std[tenth].mean(axis=1), np.sqrt(((mean - y_test) ** 2)[tenth].mean(axis=1))
ax.plot(promised, found, "o", color=palette_color(0), label="tenths of the test ratings")
ax.plot(promised, promised, color="#BBBBBB", label="as promised")
ax.set(xlabel="standard deviation that the model predicts", ylabel="error")
ax.legend(frameon=False)
style_axes(ax)
plt.show()
