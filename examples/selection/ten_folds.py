r"""
Ten folds for the price of one
==============================

How strong a penalty, how many rows, which model? Cross-validation answers from rows that a model
has not seen. Folds share walks over the data here, so ten of them cost about as much as one fit.
"""

# %%
# **K-fold over the penalty.** Diabetes in one year, from ten measurements, and their products: 65
# columns. Too weak a penalty fits noise, too strong a one fits nothing. All 40 penalties and ten
# folds are solved from one walk.
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import tenfold
from tenfold import (
    GaussianNB,
    LinearDiscriminantAnalysis,
    LogisticRegression,
    PolynomialFeatures,
    Ridge,
    Search,
)
from tenfold.metrics import confusion_matrix
from tenfold.model_selection import compare
from tenfold.plot import (
    CalibrationDisplay,
    ConfusionDisplay,
    ModelComparisonDisplay,
    RocDisplay,
    ValidationCurveDisplay,
)

X, y = load_diabetes(return_X_y=True)
X = StandardScaler().fit_transform(PolynomialFeatures(2, include_bias=False).fit_transform(X))
alphas = np.logspace(-2, 4, 40)
curve = tenfold.validation_curve(Ridge(), "alpha", alphas, X, y)
shown = ValidationCurveDisplay(curve).plot()
shown.ax_.set_title("Too little penalty, too much penalty")
plt.show()

# %%
# The score of the training rows always takes the weakest penalty: choosing by it is choosing to
# over-fit. One standard error from the best lies a simpler model.
best = tenfold.search(Ridge(), {"alpha": alphas}, X, y)
simple = tenfold.search(Ridge(), {"alpha": alphas}, X, y, rule="one_standard_error")
print(f"by the training rows: alpha = {alphas[curve.train.mean(axis=1).argmax()]:.3g}")
print(f"by held-out rows:     alpha = {best.best_params_['alpha']:.3g}")
print(f"within one error:     alpha = {simple.best_params_['alpha']:.3g}")

# %%
# **What it costs**, on 200,000 rows: the whole search against a single fit.
rng = np.random.default_rng(0)
big = rng.normal(size=(200_000, 50))
target = big @ rng.normal(size=50) + 5 * rng.normal(size=200_000)
start = perf_counter()
Ridge().fit(big, target)
one = perf_counter() - start
rows = tenfold.open(big, target=target)
start = perf_counter()
tenfold.search(Ridge(), {"alpha": np.logspace(-3, 5, 100)}, rows, refit=False)
print(f"one fit {one:.2f} s; 10 folds x 100 penalties {perf_counter() - start:.2f} s,", end=" ")
print(f"{rows.passes} walk over the rows")

# %%
# **Would more rows help?** Training and held-out scores approach each other as rows are added. The
# gap that is left is what the model's freedom costs; the height of both is what it cannot express.
ValidationCurveDisplay.from_estimator(Ridge(alpha=100.0), X, y, shares=np.linspace(0.1, 1, 8))
plt.show()

# %%
# **Which model?** Tumours, benign or malignant: four models on the same folds. The intervals are
# corrected for folds that share training rows.
cells, kind = load_breast_cancer(return_X_y=True)
cells = StandardScaler().fit_transform(cells)
models = {
    "naive Bayes": GaussianNB(),
    "shared covariance": LinearDiscriminantAnalysis(),
    "logistic": LogisticRegression(),
    "logistic, C chosen inside": Search(LogisticRegression(), {"C": [0.01, 0.1, 1.0, 10.0]}),
}
board = compare(models, cells, kind)
print(board)
print("\nsimplest within one standard error of the best:", board.simplest())
print(board.against_best("naive Bayes").sentence(board.names[0], "naive Bayes"))
ModelComparisonDisplay.from_scores({n: board.scores(n) for n in board.names}, name="accuracy")
plt.show()

# %%
# **Judged in detail** on a third of the rows that was kept aside. A missed tumour is worse than a
# false alarm, say ten times: the threshold moves with the costs.
first, last = slice(0, 380), slice(380, None)
model = make_pipeline(LogisticRegression(C=0.1)).fit(cells[first], kind[first])[-1]
table = confusion_matrix(model, cells[last], kind[last], positive=0)
print(table)
figure, axes = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
ConfusionDisplay.from_estimator(model, cells[last], kind[last], ax=axes[0])
alarm = [[0, 1], [10, 0]]  # true benign, true malignant; said benign, said malignant
RocDisplay.from_estimator(model, cells[last], kind[last], positive=0, costs=alarm, ax=axes[1])
plt.show()

# %%
CalibrationDisplay.from_estimator(model, cells[last], kind[last])
plt.show()
