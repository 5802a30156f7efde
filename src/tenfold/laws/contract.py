"""Laws of a single fit: scikit-learn's contract, saving, dtypes, predicting, descent, seeds."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning

from tenfold.laws.bits import assert_same_bits, learned, outputs, same_bits
from tenfold.laws.trials import fresh, seeded, table

DRAWN_STARTS = {"KernelKMeans", "RbfNetwork", "SphericalKMeans"}  # as KMeans, known by name


def obeys_scikit_learn(model: Any) -> None:
    """scikit-learn's own checks, less those that it expects its model of the same name to fail."""
    from sklearn.utils._test_common.instance_generator import PER_ESTIMATOR_XFAIL_CHECKS
    from sklearn.utils.estimator_checks import check_estimator

    name = type(model).__name__
    known = [checks for c, checks in PER_ESTIMATOR_XFAIL_CHECKS.items() if c.__name__ == name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # scikit-learn's own models warn there
        results = check_estimator(
            fresh(model),
            expected_failed_checks=(known[0] if known else {}) | _unfit_checks(model),
            on_fail=None,
            on_skip=None,
        )
    failed = [f"{r['check_name']}: {r['exception']}" for r in results if r["status"] == "failed"]
    assert not failed, "\n".join(failed)


def _unfit_checks(model: Any) -> dict[str, str]:
    """Checks that cannot hold: drawn starts know no weights; not all that is soft classifies."""
    unfit = {}
    if type(model).__name__ in DRAWN_STARTS or getattr(model, "_in_batches", False):
        kinds = ("dense", "sparse")
        names = (f"check_sample_weight_equivalence_on_{kind}_data" for kind in kinds)
        unfit |= dict.fromkeys(names, "rows are drawn, and a row twice is drawn twice")
    if hasattr(model, "predict_proba") and not is_classifier(model):
        why = "it asks a model that is no classifier how many classes it takes"
        names = ("check_estimator_sparse_array", "check_estimator_sparse_matrix")
        unfit |= dict.fromkeys(names, why)
    return unfit


def saving_keeps_every_bit(model: Any) -> None:
    """A model that was saved and loaded says the same, to the last bit; files hold ours alone."""
    from tenfold.persist import load

    if not type(model).__module__.startswith("tenfold."):
        return
    for dtype in (np.float64, np.float32):
        X, y = table(model, dtype, rows=3000)
        fitted = fresh(model).fit(X, y)
        with tempfile.TemporaryDirectory() as folder:
            fitted.save(Path(folder) / "model.tenfold")
            again = load(Path(folder) / "model.tenfold")
        assert_same_bits(fitted, again, "after loading")
        for name, value in outputs(fitted, X).items():
            assert same_bits(value, getattr(again, name)(X)), f"after loading: {name}"


def float32_stays_float32(model: Any) -> None:
    """float32 in, float32 learned, float32 out (statistics stay in float64)."""
    X, y = table(model, np.float32, rows=3000)
    fitted = fresh(model).fit(X, y)
    learned_arrays = learned(fitted).items()
    wide = [
        name
        for name, value in [*learned_arrays, *outputs(fitted, X).items()]
        if isinstance(value, np.ndarray) and value.dtype == np.float64 and value.ndim > 1
    ]
    assert not wide, f"float64: {wide}"


def predicting_is_pure(model: Any) -> None:
    """Predicting changes neither the rows nor the model, and says the same twice."""
    X, y = table(model, rows=3000)
    fitted = fresh(model).fit(X, y)
    rows_before, model_before = X.copy(), dict(vars(fitted))
    first = outputs(fitted, X)
    second = outputs(fitted, X)
    assert all(same_bits(first[name], second[name]) for name in first)
    assert np.array_equal(X, rows_before)
    assert vars(fitted).keys() == model_before.keys()
    assert all(
        same_bits(vars(fitted)[k], v) for k, v in model_before.items() if k in learned(fitted)
    )


def history_falls(model: Any) -> None:
    """The objective of a descent never rises, in float64 and up to rounding in float32.

    Steps on single rows (`_row_by_row`) only fall on average.
    """
    if getattr(model, "_row_by_row", False):
        return
    for dtype in (np.float64, np.float32):
        X, y = table(model, dtype)
        fitted = fresh(model).fit(X, y)
        if not hasattr(fitted, "history_"):
            return
        objective = fitted.history_["objective"]
        assert len(objective) == len(fitted.history_["seconds"]) > 0
        rounding = 10 * np.finfo(dtype).eps * np.abs(objective).max()
        assert (np.diff(objective) <= rounding).all(), f"{objective} rises"
        assert isinstance(fitted.converged_, bool)


def seeds_are_draws(model: Any) -> None:
    """The same seed gives the same model; another seed another draw."""
    if not getattr(model, "_draws", False):
        return
    X, y = table(model)
    a, b = (fresh(seeded(fresh(model), 5)).fit(X, y) for _ in range(2))
    assert_same_bits(a, b, "the same seed")
    others = [seeded(fresh(model), seed).fit(X, y) for seed in range(6, 9)]
    same = [all(same_bits(v, learned(o).get(k)) for k, v in learned(a).items()) for o in others]
    assert not all(same), "three other seeds gave the same model"
