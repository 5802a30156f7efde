"""The laws that every model obeys, run on whatever is public.

A new model is tested the day it is named: `tests/test_laws.py` walks `models()` through `LAWS`.
For a model of your own: ``tenfold.laws.check(MyModel())``.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
from numpy.testing import assert_allclose
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import get_tags

import tenfold
from tenfold.estimator import Estimator, OnePass, merge
from tenfold.rows import Chunk, Rows, checkpoint, chunk_rows, threads
from tenfold.rows import merge as merge_statistics
from tenfold.rows.fold import Task
from tenfold.rows.places import PLACES, places
from tenfold.rows.tree import leaves

NOT_LEARNED = {"history_", "dtype_", "cv_results_", "refit_time_"}  # seconds differ from run to run
DRAWN_STARTS = {"KernelKMeans", "RbfNetwork", "SphericalKMeans"}  # as KMeans, known by name
OUTPUTS = ("predict", "predict_proba", "decision_function", "transform", "score_samples")


def models() -> Iterator[Estimator]:
    """An instance of every public model, with a fixed seed."""
    for name, module in sorted(tenfold._WHERE.items()):
        found = getattr(import_module(module), name)
        if isinstance(found, type) and issubclass(found, Estimator):
            yield seeded(example(found))


def example(model: type) -> Any:
    """An instance of a model; one that works on another model gets one.

    A model that learns long may name settings with which the laws are shown sooner: `_in_laws`.
    """
    if "model" not in signature(model).parameters:
        return model(**getattr(model, "_in_laws", {}))
    from tenfold.linear.least_squares import Ridge

    return model(Ridge(), {"alpha": [0.1, 10.0]}, folds=3)


def fresh(model: Any) -> Any:
    """An unfitted model with the same parameters."""
    return clone(model)


def seeded(model: Any, seed: int = 0) -> Any:
    """The model with a seed, if it takes one."""
    return model.set_params(random_state=seed) if "random_state" in model.get_params() else model


def table(model: Any, dtype: type = np.float64, rows: int = 20_000) -> tuple[np.ndarray, Any]:
    """Rows over several chunks, shifted and correlated, with a target that suits the model."""
    rng = np.random.default_rng(7)
    rows = min(rows, 9_000) if getattr(model, "_all_pairs", False) else rows
    X = rng.normal(size=(rows, 6)) @ rng.normal(size=(6, 6)) + 3
    score = X @ rng.normal(size=6) + rng.normal(size=rows)
    y, tags = None, get_tags(model)
    if is_classifier(model):
        several = tags.classifier_tags is None or tags.classifier_tags.multi_class
        cuts = [0.3, 0.7] if several else [0.4]
        y = np.digitize(score, np.quantile(score, cuts))
        X += y[:, None]
    elif is_regressor(model):
        counts = tags.target_tags.positive_only
        y = (np.floor(np.abs(score)) if counts else score).astype(dtype)
    return (np.abs(X) if tags.input_tags.positive_only else X).astype(dtype), y


def learned(model: Any) -> dict[str, Any]:
    """The learned attributes whose bits count."""
    names = (name for name in vars(model) if name.endswith("_") and name not in NOT_LEARNED)
    found = {name: getattr(model, name) for name in names if name != "feature_names_in_"}
    inner = {name: value for name, value in found.items() if isinstance(value, Estimator)}
    return {name: v for name, v in found.items() if name not in inner} | {
        f"{name}.{own}": v for name, value in inner.items() for own, v in learned(value).items()
    }


def same_bits(a: Any, b: Any) -> bool:
    """Whether two results are equal to the last bit, types included."""
    first, second = parts_of(a), parts_of(b)
    return len(first) == len(second) and all(map(_same, first, second))


def parts_of(value: Any) -> list:
    """The numbers and arrays of a learned value; those of a dataclass (a density) too."""
    parts = []
    for leaf in leaves(value):
        whole = is_dataclass(leaf) and not isinstance(leaf, type)
        parts += parts_of([getattr(leaf, f.name) for f in fields(leaf)]) if whole else [leaf]
    return parts


def _same(a: Any, b: Any) -> bool:
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    return bool((a == b).all()) if a.dtype.kind in "OU" else a.tobytes() == b.tobytes()


def assert_same_bits(a: Any, b: Any, what: str) -> None:
    """Raise an error that names what differs."""
    others = learned(b)
    for name, value in learned(a).items():
        assert same_bits(value, others.get(name)), f"{what}: {name} has other bits"


def outputs(model: Any, X: Any) -> dict[str, np.ndarray]:
    """What the model says about rows, by every method it has for it."""
    return {name: getattr(model, name)(X) for name in OUTPUTS if hasattr(model, name)}


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


class Recorded(Rows):
    """Rows that remember which leaves were folded over them, with what state."""

    def __init__(self, rows: Rows) -> None:
        super().__init__(
            rows.source, engine=rows.engine, classes=rows.classes, allow_nan=rows.allow_nan
        )
        self.calls: list[tuple[Callable[..., Any], tuple]] = []

    def total(self, f: Callable[..., Any], *state: Any) -> Any:
        self.calls.append((f, state))
        return super().total(f, *state)


def parts_make_the_whole(model: Any, cut: int = 1234) -> None:
    """The statistic of a chunk is the merge of the statistics of its parts, for every leaf."""
    X, y = table(model, rows=3000)
    model = fresh(model)
    rows = Recorded(model._training_rows(X, y, None))
    if type(model)._fit is Estimator._fit:  # a model of models fits them by itself
        model.fit(rows)
    else:
        model._keep(model._fit(rows, model._rng()))
    whole = rows.gather()
    for f, state in rows.calls:
        halves = [_part(whole, 0, cut), _part(whole, cut, len(X))]
        merged = leaves(merge_statistics(*(f(half, *state) for half in halves)))
        for got, want in zip(merged, leaves(f(whole, *state)), strict=True):
            scale = np.abs(want).max(initial=0.0) if np.ndim(want) else abs(want)
            # a triangular factor is defined up to the signs of its rows
            assert_allclose(np.abs(got), np.abs(want), rtol=1e-7, atol=1e-9 * float(scale))


def _part(chunk: Chunk, a: int, b: int) -> Chunk:
    return Chunk(*(None if part is None else part[a:b] for part in chunk[:3]), first=a)


def parts_merge(model: Any, cut: int = 7777) -> None:
    """Models of two parts merge into the model of the whole; `partial_fit` likewise."""
    if not isinstance(model, OnePass):
        return
    X, y = table(model)
    y = np.zeros(len(X)) if y is None else y
    whole = fresh(model).fit(X, y)
    a, b = fresh(model).fit(X[:cut], y[:cut]), fresh(model).fit(X[cut:], y[cut:])
    more = {"classes": np.unique(y)} if is_classifier(model) else {}
    grown = fresh(model).partial_fit(X[:cut], y[:cut], **more).partial_fit(X[cut:], y[cut:])
    for other in (merge(a, b), grown):
        for name, value in learned(whole).items():
            for got, want in zip(parts_of(getattr(other, name)), parts_of(value), strict=True):
                if want is not None and not isinstance(want, str):
                    assert_allclose(got, want, rtol=1e-6, atol=1e-9, err_msg=name)


def place_does_not_matter(
    model: Any,
    only: tuple[str, ...] | None = None,
    dtypes: tuple[type, ...] = (np.float64, np.float32),
) -> None:
    """Arrays of any layout, files, tables and a cluster give the same bits."""
    for dtype in dtypes:
        X, y = table(model, dtype)
        here = fresh(model).fit(X, y)
        for name in places(np.dtype(dtype)):
            if only is not None and name not in only:
                continue
            with tempfile.TemporaryDirectory() as folder:
                there = fresh(model).fit(*PLACES[name](X, y, Path(folder)))
                assert_same_bits(here, there, f"{name}, {np.dtype(dtype)}")
                rows = PLACES[name](X, None, Path(folder))[0]
                for output, value in outputs(here, X).items():
                    assert same_bits(value, getattr(there, output)(rows)), f"{name}: {output}"


def threads_do_not_matter(model: Any) -> None:
    """One, two and three threads give the same bits."""
    for dtype in (np.float64, np.float32):
        X, y = table(model, dtype)
        with threads(1):
            alone = fresh(model).fit(X, y)
            said = outputs(alone, X)
        for n in (2, 3):
            with threads(n):
                together = fresh(model).fit(X, y)
                assert_same_bits(alone, together, f"{n} threads")
                for name, value in said.items():
                    assert same_bits(value, getattr(together, name)(X)), f"{n} threads: {name}"


def weights_are_repetitions(model: Any) -> None:
    """A row of weight two is the row twice, a row of weight zero no row."""
    if getattr(model, "_draws", False) or "sample_weight" not in model.fit.__code__.co_varnames:
        return
    X, y = table(model, rows=9000)
    w = np.random.default_rng(1).integers(0, 3, len(X))
    weighed = fresh(model).fit(X, y, sample_weight=w.astype(float))
    repeated = fresh(model).fit(np.repeat(X, w, axis=0), None if y is None else np.repeat(y, w))
    for name, value in outputs(weighed, X).items():
        assert_allclose(value, getattr(repeated, name)(X), rtol=1e-5, atol=1e-6, err_msg=name)


def order_does_not_matter(model: Any) -> None:
    """Rows in another order give the same model, but for rounding; not where rows are drawn."""
    if getattr(model, "_draws", False):
        return
    X, y = table(model)
    order = np.random.default_rng(2).permutation(len(X))
    a, b = fresh(model).fit(X, y), fresh(model).fit(X[order], None if y is None else y[order])
    for name, value in outputs(a, X).items():
        assert_allclose(value, getattr(b, name)(X), rtol=1e-6, atol=1e-7, err_msg=name)


def saving_keeps_every_bit(model: Any) -> None:
    """A model that was saved and loaded says the same, to the last bit."""
    from tenfold.persist import load

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


def chunking_does_not_matter(model: Any) -> None:
    """Another grid gives the same model, but for rounding: drawn rows are the same rows."""
    from unittest import mock

    X, y = table(model)
    a = fresh(model).fit(X, y)
    grid = lambda width, dtype: max(chunk_rows(width, dtype) // 5, 1)  # noqa: E731
    with mock.patch("tenfold.rows.source.chunk_rows", grid):
        b = fresh(model).fit(X, y)
        said = outputs(b, X)
    for name, value in outputs(a, X).items():
        assert_allclose(value, said[name], rtol=1e-5, atol=1e-6, err_msg=name)


class Killed(BaseException):
    """What stops a fit in the middle of a pass."""


def fitted_unless_stopped(model: Any, path: Path, chunks: int) -> Any:
    """Fit under a checkpoint, but stop after so many chunks or blocks: then None."""
    from unittest import mock

    left, result, blocks = [chunks], Task.result, Rows.blocks

    def count() -> None:
        left[0] -= 1
        if left[0] == 0:
            raise Killed

    def counted_result(task: Task, chunk: Chunk) -> Any:
        count()
        return result(task, chunk)

    def counted_blocks(rows: Rows, seed: int | None = None) -> Iterator[Any]:
        for block in blocks(rows, seed):
            count()
            yield block

    try:
        with (
            mock.patch.object(Task, "result", counted_result),
            mock.patch.object(Rows, "blocks", counted_blocks),
            checkpoint(path, every=0),
        ):
            return fresh(model).fit(*table(model))
    except Killed:
        return None


def stopped_fits_resume(model: Any) -> None:
    """A fit that is stopped anywhere and run again under its checkpoint ends with the same bits."""
    whole = fresh(model).fit(*table(model))
    rng = np.random.default_rng(3)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fit.ckpt"
        again = fitted_unless_stopped(model, path, 2)
        assert again is None, "the fit was never stopped"
        while again is None:
            again = fitted_unless_stopped(model, path, int(rng.integers(2, 12)))
    assert_same_bits(whole, again, "after stops")


LAWS: tuple[Callable[[Any], None], ...] = (
    obeys_scikit_learn,
    parts_make_the_whole,
    parts_merge,
    place_does_not_matter,
    threads_do_not_matter,
    weights_are_repetitions,
    order_does_not_matter,
    saving_keeps_every_bit,
    float32_stays_float32,
    predicting_is_pure,
    history_falls,
    seeds_are_draws,
    chunking_does_not_matter,
    stopped_fits_resume,
)


def check(model: Any) -> None:
    """Run all laws on a model; the first that it breaks raises an AssertionError.

    Parameters
    ----------
    model : Estimator
        An unfitted model.
    """
    for law in LAWS:
        law(model)
