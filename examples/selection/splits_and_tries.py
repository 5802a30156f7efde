r"""
Splits, tries and stopping in time
==================================

Rows to learn from, rows to choose by, rows for the verdict. Why each is needed, what happens to
those who take the exam a hundred times, and how rows held out end a training in time.
"""

# %%
# Tumours, benign or malignant, by 30 measurements of their cells. 70 % of the rows train, 10 %
# choose, 20 % judge. The library warns that 57 rows choose badly, and the test set is sealed: it
# counts who looks.
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tenfold import LinearSVC, LogisticRegression, SGDClassifier
from tenfold.datasets import load_breast_cancer
from tenfold.model_selection import (
    EarlyStopping,
    SealedTest,
    error_interval,
    expected_maximum,
    mcnemar_test,
    simulate_best_of,
    split_train_validation_test,
)
from tenfold.plot import EarlyStoppingDisplay, ModelComparisonDisplay
from tenfold.plot.style import TEXT_COLOR, palette_color, style_axes

X, y = load_breast_cancer(return_X_y=True)
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    train, dev, test = split_train_validation_test(X, y, stratify=True)
print(f"{len(train.y)} rows train, {len(dev.y)} choose, {len(test.y)} judge")
print(said[0].message)
sealed = SealedTest(test.X, test.y)

# %%
# Logistic regression or a support vector machine, and how strong a penalty? Each is trained on the
# training rows, all are compared on the validation rows, and the winner alone sees the test rows.
# (1/C here is the penalty of the whole sum.)
candidates = {
    f"{name}, C = {C:g}": make_pipeline(StandardScaler(), model(C=C)).fit(train.X, train.y)
    for name, model in [("logistic", LogisticRegression), ("SVM", LinearSVC)]
    for C in (0.001, 0.01, 0.1, 1.0, 10.0)
}
scores = {name: model.score(dev.X, dev.y) for name, model in candidates.items()}
winner = max(scores, key=scores.get)
print(f"{'':<22}{'training':>9}{'validation':>12}")
for name, model in candidates.items():
    print(f"{name:<22}{model.score(train.X, train.y):>9.3f}{scores[name]:>12.3f}")
verdict = sealed.score(candidates[winner])
wrong = round((1 - verdict) * len(test.y))
print(f"\nchosen: {winner}. Test accuracy {verdict:.3f}")
print("error rate", error_interval(wrong, len(test.y)))

# %%
# Are the two kinds of model really different? On 114 rows, hardly: the intervals overlap, and an
# exact test of the rows that only one gets right finds nothing. The seal notices the second look.
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    rows, labels = sealed.open()
print(said[0].message)
best_of_kind = {
    kind: max((n for n in scores if n.startswith(kind)), key=scores.get)
    for kind in ("logistic", "SVM")
}
answers = {name: candidates[name].predict(rows) for name in best_of_kind.values()}
answers["always benign"] = np.ones_like(labels)
ModelComparisonDisplay.from_predictions(
    labels, answers, lambda y, said: np.mean(y == said), name="test accuracy"
)
plt.show()
first, second = best_of_kind.values()
print(mcnemar_test(labels, answers[first], answers[second]).sentence(first, second))

# %%
# Take the exam a hundred times and keep the best mark. Here all hundred settings are equally good,
# right in 80 % of cases; on 200 rows the best of them seems to be right in 87 %. Fresh rows know
# better. The figure foretold is the expected largest of 100 normal numbers, in standard errors.
found = simulate_best_of(100, rows=200, accuracy=0.8)
figure, ax = plt.subplots(figsize=(7.4, 3.8), layout="constrained")
bins = np.arange(0.7, 0.95, 0.01) + 0.0025
ax.hist(found.fresh, bins, color=palette_color(0), alpha=0.7, label="the same one, fresh rows")
ax.hist(found.best, bins, color=palette_color(1), alpha=0.7, label="best of 100")
ax.axvline(0.8, color=TEXT_COLOR, lw=1.6, label="truth")
ax.axvline(
    0.8 + found.expected, color=TEXT_COLOR, lw=1.6, ls="--", label="truth + foretold optimism"
)
ax.set(xlabel="accuracy on 200 rows", ylabel="of 2000 repetitions")
style_axes(ax)
ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
plt.show()
print(f"{'':<38}{'in the notes':<14}| here")
print(f"{'best of 100, in standard errors':<38}{'too good':<14}| {expected_maximum(100):.3f}")
error = np.sqrt(0.8 * 0.2 / 200)
print(f"{'the same, simulated':<38}{'':<14}| {found.optimism / error:.3f}")
print(f"{'fresh rows':<38}{'not biased':<14}| {(found.fresh.mean() - 0.8) / error:+.3f}")

# %%
# Stopping in time. Few rows, many columns, some labels wrong: the loss of the rows that are learned
# falls for ever, that of rows held out turns. `EarlyStopping` returns the best round, not the last.
rng = np.random.default_rng(2)
COLUMNS, DIRECTION = 60, rng.normal(size=60) * (np.arange(60) < 8)


def sample(n, rng):
    X = rng.normal(size=(n, COLUMNS))
    return X, (X @ DIRECTION + 2 * rng.normal(size=n) > 0).astype(int)


steps = SGDClassifier("log_loss", alpha=0, learning_rate="constant", eta0=0.005, random_state=0)
Z, z = sample(300, rng)
Z_new, z_new = sample(20_000, rng)
stopping = EarlyStopping(
    steps, validation=0.3, patience=30, scoring="neg_log_loss", max_rounds=200
).fit(Z, z)
EarlyStoppingDisplay.from_estimator(stopping, name="minus log loss")
plt.show()
learned = np.setdiff1d(np.arange(len(z)), stopping.validation_rows_)
last = SGDClassifier(
    "log_loss", alpha=0, learning_rate="constant", eta0=0.005, random_state=0,
    max_iter=stopping.n_rounds_, tol=None,
).fit(Z[learned], z[learned])  # fmt: skip
best_loss, last_loss = (log_loss(z_new, m.predict_proba(Z_new)) for m in (stopping, last))
print(f"loss of fresh rows: round kept {best_loss:.3f}, last round {last_loss:.3f}")

# %%
# Why cross-validation cannot choose an early stop. It judges a *way of making models*: each of its
# ten trainings has its own rows, its own path and its own best round, and none of the ten models is
# the one that is used in the end. That one, trained on all rows, takes a path on which nothing is
# held out any more. The best rounds of ten folds differ several times over; a number of rounds is
# no iterate.
ROUNDS = 60
curves = []
for fold, (a, b) in enumerate(StratifiedKFold(10, shuffle=True, random_state=0).split(Z, z)):
    model, curve = SGDClassifier(**{**steps.get_params(), "random_state": fold}), []
    for _ in range(ROUNDS):
        model.partial_fit(Z[a], z[a], classes=[0, 1])
        chances = model.predict_proba(Z[b])
        curve.append(-np.log(chances[np.arange(len(b)), z[b]]).mean())
    curves.append(curve)
curves = np.array(curves)
stops = curves.argmin(axis=1) + 1
figure, ax = plt.subplots(figsize=(7.6, 4.2), layout="constrained")
rounds = np.arange(1, ROUNDS + 1)
for number, (curve, stop) in enumerate(zip(curves, stops, strict=True)):
    ax.plot(
        rounds,
        curve,
        color=palette_color(5),
        lw=1,
        alpha=0.8,
        label="a fold" if not number else None,
    )
    label = None if number else "its best round"
    ax.plot(stop, curve[stop - 1], "o", color=palette_color(1), ms=6, label=label, zorder=3)
ax.plot(rounds, curves.mean(axis=0), color=TEXT_COLOR, lw=2, label="mean of the folds")
ax.set(xlabel="round", ylabel="log loss of rows held out")
style_axes(ax)
ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
plt.show()
print("best rounds of the ten folds:", *sorted(int(stop) for stop in stops))
