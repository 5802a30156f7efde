"""
A project: digits by softmax, features and kernels
==================================================

The notes of the course print the softmax of this project, its temperature and no numbers. The parts
below follow the unit: softmax regression on pixels, the temperature, few principal components in
the place of many pixels, products of three of them, and the kernel that holds these products
without computing them.
"""

# %%
# Handwritten digits: 5,000 of MNIST where they are at hand, else the bundled ones of 8 by 8 pixels.
import os
import warnings

import matplotlib.pyplot as plt
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline

from tenfold import PCA, SVC, LogisticRegression, PolynomialFeatures, datasets
from tenfold.math.links import softmax
from tenfold.plot import weights
from tenfold.plot.style import palette_color, style_axes

warnings.simplefilter("ignore", ConvergenceWarning)  # digits of a picture, not the last digit
if "TENFOLD_DATA" in os.environ:
    X, y = datasets.fetch_mnist(return_X_y=True)
    X = X[:6000].reshape(6000, -1) / 255
    y = y[:6000]
else:
    X, y = datasets.load_digits(return_X_y=True)
    X = X / 16
cut = len(y) * 5 // 6
train, test = slice(0, cut), slice(cut, None)

# %%
# Softmax regression: a weight for each pixel and digit.
model = LogisticRegression(C=0.1, max_iter=100).fit(X[train], y[train])
print(f"pixels: {model.score(X[test], y[test]):.3f} of {len(y) - cut} unseen digits")
side = int(X.shape[1] ** 0.5)
weights(model, (side, side))
plt.show()

# %%
# Scores divided by a temperature: near zero the softmax is the largest score, far above it all
# digits are alike. The most probable digit is the same at every temperature.
scores = model.decision_function(X[test][:1])
fig, axes = plt.subplots(1, 3, figsize=(9, 2.6), layout="constrained", sharey=True)
for ax, temperature in zip(axes, (0.25, 1.0, 10.0), strict=True):
    ax.bar(range(10), softmax(scores, temperature)[0], color=palette_color(0))
    ax.set(title=f"temperature {temperature:g}", xticks=range(10), xlabel="digit")
    style_axes(ax)
axes[0].set_ylabel("probability")
plt.show()

# %%
# Eighteen principal components lose some of what the pixels know. Ten of them with all products of
# up to three make up for it in part. The kernel (1 + x·z)³ is the dot product of such products: on
# all eighteen components, where they would be 1,330 columns, it halves the errors of the pixels.
models = {
    "18 components": make_pipeline(PCA(18), LogisticRegression(max_iter=200)),
    "10 components, cubic": make_pipeline(
        PCA(10), PolynomialFeatures(3, include_bias=False), LogisticRegression(max_iter=100)
    ),
    "18 components, cubic kernel": make_pipeline(
        PCA(18), SVC(kernel="poly", degree=3, gamma=0.1, coef0=1.0, C=1.0)
    ),
    "18 components, RBF kernel": make_pipeline(PCA(18), SVC(kernel="rbf", gamma=0.05, C=10.0)),
}
found = {"pixels": model.score(X[test], y[test])}
for name, other in models.items():
    found[name] = other.fit(X[train], y[train]).score(X[test], y[test])
    print(f"{name}: {found[name]:.3f}")

fig, ax = plt.subplots(figsize=(7, 2.8), layout="constrained")
ax.barh(list(found), [100 * (1 - value) for value in found.values()], color=palette_color(1))
ax.set(xlabel="errors on unseen digits, %")
ax.invert_yaxis()
style_axes(ax)
plt.show()
