"""
A tree split by split, and the forest around it
===============================================

A decision tree cuts the plane into boxes, one cut after the other. A forest averages many trees on
drawn rows, and what a tree has not drawn measures its error. [X01]
"""

# %%
# Two columns and two classes. The tree may use 2, 3, 5 and 9 leaves; with `max_leaf_nodes` the cut
# that lowers the impurity most comes first, so each picture refines the one before.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.inspection import permutation_importance

from tenfold import (
    DecisionTreeClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    export_text,
)
from tenfold.plot import decision_boundary, tree
from tenfold.plot.style import palette_color, style_axes

X, y = make_moons(400, noise=0.3, random_state=0)
X_new, y_new = make_moons(2000, noise=0.3, random_state=1)

fig, axes = plt.subplots(1, 4, figsize=(12, 3), layout="constrained")
for ax, leaves in zip(axes, (2, 3, 5, 9), strict=True):
    model = DecisionTreeClassifier(max_leaf_nodes=leaves, random_state=0).fit(X, y)
    decision_boundary(model, X, y, ax=ax)
    ax.set_title(f"{leaves} leaves, {model.score(X_new, y_new):.0%} of new rows")
plt.show()

# %%
# The rules of the tree with five leaves, as text and as a picture.
model = DecisionTreeClassifier(max_leaf_nodes=5, random_state=0).fit(X, y)
print(export_text(model, feature_names=["left-right", "up-down"]))
tree(model, feature_names=["left-right", "up-down"])
plt.show()

# %%
# Grown to the end, a tree knows every training row by heart; a forest of such trees does not suffer
# from it. The out-of-bag score needs no new rows. More trees never hurt a forest, which averages
# them; boosting adds them up, is best after some rounds, and then learns the noise.
full = DecisionTreeClassifier(random_state=0).fit(X, y)
print(f"tree:   training {full.score(X, y):.3f}, new rows {full.score(X_new, y_new):.3f}")
sizes, seen, unseen = [15, 25, 50, 100, 200, 400], [], []
forest = RandomForestClassifier(warm_start=True, oob_score=True, random_state=0)
for size in sizes:
    forest.set_params(n_estimators=size).fit(X, y)
    seen.append(1 - forest.oob_score_)
    unseen.append(1 - forest.score(X_new, y_new))
print(f"forest: out of bag {1 - seen[-1]:.3f}, new rows {1 - unseen[-1]:.3f}")
boosted = HistGradientBoostingClassifier(max_iter=400, max_leaf_nodes=6, random_state=0).fit(X, y)
errors = [np.mean(labels != y_new) for labels in boosted.staged_predict(X_new)]
print(f"boosting: new rows {1 - min(errors):.3f} after {np.argmin(errors) + 1} trees")

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
decision_boundary(forest, X, y, ax=left)
right.plot(sizes, seen, color=palette_color(0), label="out of bag")
right.plot(sizes, unseen, color=palette_color(1), label="new rows")
right.plot(range(1, 401), errors, color=palette_color(3), label="boosting, new rows")
right.axhline(1 - full.score(X_new, y_new), color=palette_color(2), ls="--", label="one tree")
right.set(xlabel="trees", ylabel="error", xscale="log")
right.legend()
style_axes(right)
plt.show()

# %%
# Importance and its traps. A column of pure noise with many values gets a share of the decrease of
# impurity, since a full tree cuts it often; on new rows its permutation changes nothing.
rng = np.random.default_rng(0)
noisy, noisy_new = (np.column_stack([A, rng.normal(size=len(A))]) for A in (X, X_new))
forest = RandomForestClassifier(100, random_state=0).fit(noisy, y)
permuted = permutation_importance(forest, noisy_new, y_new, n_repeats=5, random_state=0)
for name, share, drop in zip(
    ["left-right", "up-down", "noise"],
    forest.feature_importances_,
    permuted.importances_mean,
    strict=True,
):
    print(f"{name:10s} impurity {share:.2f}   permutation on new rows {drop:+.3f}")

# %%
# Quantiles of a forest: leaves keep histograms of their targets.
x = np.sort(rng.uniform(0, 6, 500))
target = np.sin(x) + 0.1 * (1 + x) * rng.normal(size=500)
model = RandomForestRegressor(200, min_samples_leaf=15, keep_targets=True, random_state=0)
low, high = model.fit(x[:, None], target).predict_interval(x[:, None], 0.9).T
print(f"{np.mean((low <= target) & (target <= high)):.0%} of the rows lie in the interval of 90 %")
fig, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
ax.scatter(x, target, s=8, color=palette_color(0), alpha=0.5)
ax.fill_between(x, low, high, color=palette_color(1), alpha=0.25, lw=0)
ax.plot(x, model.predict(x[:, None]), color=palette_color(1))
style_axes(ax)
plt.show()
