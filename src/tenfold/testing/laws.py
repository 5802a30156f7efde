"""The laws that every model obeys.

The contract of scikit-learn; saving and loading; dtypes; merging of statistics and models; resuming
from checkpoints; invariance to storage, threads, chunk size, row order and repeated rows.
"""

from __future__ import annotations

import itertools
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from numpy.testing import assert_allclose
from scipy.sparse import issparse
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning, SkipTestWarning

from tenfold.base._sklearn import expected_check_failures
from tenfold.base.estimator import Estimator
from tenfold.base.one_pass import OnePass, merge
from tenfold.callbacks.checkpoint import checkpoint
from tenfold.engine.chunk import Chunk, chunk_rows
from tenfold.engine.merge_tree import flatten_statistic
from tenfold.engine.merge_tree import merge as merge_statistics
from tenfold.engine.rows import Rows
from tenfold.engine.task import FoldTask
from tenfold.engine.thread_pool import threads
from tenfold.math.linalg import to_dense
from tenfold.testing.bitwise import (
    assert_bitwise_equal,
    flatten_value,
    is_bitwise_equal,
    learned_attributes,
    model_outputs,
)
from tenfold.testing.instances import clone_model, make_dataset, set_seed, traits_of
from tenfold.testing.storage import STORAGES, storages_for

# scikit-learn skips its own model: the checks bring rows of other widths than a given dictionary
_FIXED_WIDTH = {"SparseCoder"}

# scikit-learn expects this failure of its own KMeans, by name
_RANDOM_INITIALIZATION = {
    "KernelKMeans",
    "KernelPerceptron",
    "Nystroem",
    "NystroemLogisticRegression",
    "NystroemRidge",
    "NystroemRidgeCV",
    "RbfNetwork",
    "SphericalKMeans",
}
# all components, of which there are no more than rows: repeated rows have more, of no variance
_AS_MANY_COMPONENTS_AS_ROWS = {"IncrementalPCA", "PCA"}


def check_scikit_learn_contract(model: Any) -> None:
    """scikit-learn's checks, except those that it expects its model of the same name to fail."""
    from sklearn.utils.estimator_checks import check_estimator

    name = type(model).__name__
    if name in _FIXED_WIDTH:
        return
    with warnings.catch_warnings():
        # scikit-learn's own models warn in these checks, and some cannot be checked
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", SkipTestWarning)
        results = check_estimator(
            clone_model(model),
            expected_failed_checks=expected_check_failures(name) | _inapplicable_checks(model),
            on_fail=None,
            on_skip=None,
        )
    failed = [f"{r['check_name']}: {r['exception']}" for r in results if r["status"] == "failed"]
    assert not failed, "\n".join(failed)


def _inapplicable_checks(model: Any) -> dict[str, str]:
    """Checks that do not apply: weights with random initialization, classes of non-classifiers."""
    reasons = {}
    if type(model).__name__ in _RANDOM_INITIALIZATION or traits_of(model)._learns_in_batches:
        kinds = ("dense", "sparse")
        names = (f"check_sample_weight_equivalence_on_{kind}_data" for kind in kinds)
        reasons |= dict.fromkeys(names, "rows are drawn, repeated rows more often")
    if type(model).__name__ in _AS_MANY_COMPONENTS_AS_ROWS:
        names = (f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse"))
        reasons |= dict.fromkeys(names, "components without variance, one for each row")
    if hasattr(model, "predict_proba") and not is_classifier(model):
        why = "the check asks for the number of classes of a model that is not a classifier"
        names = ("check_estimator_sparse_array", "check_estimator_sparse_matrix")
        reasons |= dict.fromkeys(names, why)
    return reasons


def check_save_and_load(model: Any) -> None:
    """A saved and loaded model has the same bits and outputs; for models of tenfold alone."""
    from tenfold.persist.model_file import load

    if not type(model).__module__.startswith("tenfold."):
        return
    for dtype in (np.float64, np.float32):
        X, y = make_dataset(model, dtype, rows=3000)
        fitted = clone_model(model).fit(X, y)
        with tempfile.TemporaryDirectory() as folder:
            fitted.save(Path(folder) / "model.tenfold")
            loaded = load(Path(folder) / "model.tenfold")
        assert_bitwise_equal(fitted, loaded, "after loading")
        for name, value in model_outputs(fitted, X).items():
            assert is_bitwise_equal(value, getattr(loaded, name)(X)), f"after loading: {name}"


def check_float32(model: Any) -> None:
    """float32 rows give float32 attributes and outputs (statistics are float64)."""
    X, y = make_dataset(model, np.float32, rows=3000)
    fitted = clone_model(model).fit(X, y)
    learned_arrays = learned_attributes(fitted).items()
    float64 = [
        name
        for name, value in [*learned_arrays, *model_outputs(fitted, X).items()]
        if isinstance(value, np.ndarray)
        and value.dtype == np.float64
        and value.ndim > 1
        and name not in traits_of(model)._float64_learned
    ]
    assert not float64, f"float64: {float64}"


def check_predict_is_pure(model: Any) -> None:
    """Prediction changes neither the rows nor the model, and is repeatable."""
    X, y = make_dataset(model, rows=3000)
    fitted = clone_model(model).fit(X, y)
    rows_before, model_before = X.copy(), dict(vars(fitted))
    first = model_outputs(fitted, X)
    second = model_outputs(fitted, X)
    assert all(is_bitwise_equal(first[name], second[name]) for name in first)
    assert np.array_equal(X, rows_before)
    assert vars(fitted).keys() == model_before.keys()
    assert all(
        is_bitwise_equal(vars(fitted)[k], v)
        for k, v in model_before.items()
        if k in learned_attributes(fitted)
    )


def check_objective_decreases(model: Any) -> None:
    """The objective of an iterative fit never increases, up to rounding.

    Stochastic steps (`_learns_in_row_order`) and steps with momentum (`_has_momentum`) decrease it
    in the long run only, and are exempt.
    """
    if traits_of(model)._learns_in_row_order or traits_of(model)._has_momentum:
        return
    for dtype in (np.float64, np.float32):
        X, y = make_dataset(model, dtype)
        fitted = clone_model(model).fit(X, y)
        if not hasattr(fitted, "history_"):
            return
        objective = fitted.history_["objective"]
        assert len(objective) == len(fitted.history_["seconds"]) > 0
        rounding = 10 * np.finfo(dtype).eps * np.abs(objective).max()
        assert (np.diff(objective) <= rounding).all(), f"{objective} increases"
        assert isinstance(fitted.converged_, bool)


def check_seeds(model: Any) -> None:
    """The same seed gives the same model; other seeds give other draws."""
    if not traits_of(model)._samples_rows:
        return
    X, y = make_dataset(model)
    a, b = (clone_model(set_seed(clone_model(model), 5)).fit(X, y) for _ in range(2))
    assert_bitwise_equal(a, b, "the same seed")
    others = (set_seed(clone_model(model), seed).fit(X, y) for seed in range(6, 9))
    same = (
        all(
            is_bitwise_equal(v, learned_attributes(o).get(k))
            for k, v in learned_attributes(a).items()
        )
        for o in others
    )
    assert not all(same), "three other seeds gave the same model"


def check_storage_invariance(
    model: Any,
    only: tuple[str, ...] | None = None,
    dtypes: tuple[type, ...] = (np.float64, np.float32),
) -> None:
    """Arrays of any layout, files, tables and a cluster give the same bits."""
    for dtype in dtypes:
        X, y = make_dataset(model, dtype)
        reference = clone_model(model).fit(X, y)
        expected = model_outputs(reference, X)
        for name in storages_for(np.dtype(dtype)):
            if only is not None and name not in only:
                continue
            with tempfile.TemporaryDirectory() as folder:
                stored = clone_model(model).fit(*STORAGES[name](X, y, Path(folder)))
                assert_bitwise_equal(reference, stored, f"{name}, {np.dtype(dtype)}")
                rows = STORAGES[name](X, None, Path(folder))[0]
                for output, value in expected.items():
                    assert is_bitwise_equal(value, getattr(stored, output)(rows)), (
                        f"{name}: {output}"
                    )


def check_thread_invariance(model: Any) -> None:
    """One, two and three threads give the same bits."""
    for dtype in (np.float64, np.float32):
        X, y = make_dataset(model, dtype)
        with threads(1):
            serial = clone_model(model).fit(X, y)
            expected = model_outputs(serial, X)
        for n in (2, 3):
            with threads(n):
                parallel = clone_model(model).fit(X, y)
                assert_bitwise_equal(serial, parallel, f"{n} threads")
                for name, value in expected.items():
                    assert is_bitwise_equal(value, getattr(parallel, name)(X)), (
                        f"{n} threads: {name}"
                    )


def check_chunk_size_invariance(model: Any) -> None:
    """Another chunk size gives the same model up to rounding, with the same rows drawn."""
    X, y = make_dataset(model)
    a = clone_model(model).fit(X, y)
    grid = lambda width, dtype: max(chunk_rows(width, dtype) // 5, 1)  # noqa: E731
    with mock.patch("tenfold.engine.source.chunk_rows", grid):
        b = clone_model(model).fit(X, y)
        outputs = model_outputs(b, X)
    for name, value in model_outputs(a, X).items():
        for got, want in zip(flatten_value(value), flatten_value(outputs[name]), strict=True):
            assert_allclose(got, want, rtol=1e-5, atol=1e-6, err_msg=name)


def check_row_order_invariance(model: Any) -> None:
    """Rows in another order give the same model up to rounding, unless rows are drawn."""
    if traits_of(model)._samples_rows:
        return
    X, y = make_dataset(model)
    order = np.random.default_rng(2).permutation(len(X))
    a, b = (
        clone_model(model).fit(X, y),
        clone_model(model).fit(X[order], None if y is None else y[order]),
    )
    for name, value in model_outputs(a, X).items():
        # the columns of a graph are the training rows
        want = value[:, order] if issparse(value) else value
        got = to_dense(getattr(b, name)(X))
        assert_allclose(to_dense(want), got, rtol=1e-6, atol=1e-7, err_msg=name)


def check_weights_as_repetitions(model: Any) -> None:
    """A row of weight 2 counts as two rows, a row of weight 0 as none."""
    if traits_of(model)._samples_rows or "sample_weight" not in model.fit.__code__.co_varnames:
        return
    X, y = make_dataset(model, rows=9000)
    w = np.random.default_rng(1).integers(0, 3, len(X))
    weighted = clone_model(model).fit(X, y, sample_weight=w.astype(float))
    repeated = clone_model(model).fit(
        np.repeat(X, w, axis=0), None if y is None else np.repeat(y, w, axis=0)
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="One or more samples have no neighbors")
        for name, value in model_outputs(weighted, X).items():
            assert_allclose(value, getattr(repeated, name)(X), rtol=1e-5, atol=1e-6, err_msg=name)


class RecordingRows(Rows):
    """Rows that record the chunk functions of all passes, with their state."""

    def __init__(self, rows: Rows) -> None:
        super().__init__(
            rows.source, engine=rows.engine, classes=rows.classes, allow_nan=rows.allow_nan
        )
        self.calls: list[tuple[Callable[..., Any], tuple]] = []

    def total(self, f: Callable[..., Any], *state: Any) -> Any:
        self.calls.append((f, state))
        return super().total(f, *state)


def check_statistics_merge(model: Any, cuts: tuple[int, ...] = ()) -> None:
    """The statistic of a chunk is the merge of those of its parts, for every chunk function.

    `cuts` are numbers of rows of the first part; one by default.
    """
    X, y = make_dataset(model, rows=3000)
    model = clone_model(model)
    rows = RecordingRows(model._training_rows(X, y, None))
    if type(model)._fit is Estimator._fit:  # a meta-estimator fits its models itself
        model.fit(rows)
    else:
        model._set_learned(model._fit(rows, model._rng()))
    whole = rows.gather()
    for f, state in rows.calls:
        expected = flatten_statistic(f(whole, *state))
        for cut in cuts or (min(1234, len(X) // 2),):
            halves = [_slice_chunk(whole, 0, cut), _slice_chunk(whole, cut, len(X))]
            merged = flatten_statistic(merge_statistics(*(f(half, *state) for half in halves)))
            for got, want in zip(merged, expected, strict=True):
                scale = np.abs(want).max(initial=0.0) if np.ndim(want) else abs(want)
                # a triangular factor is defined up to the signs of its rows
                assert_allclose(np.abs(got), np.abs(want), rtol=1e-7, atol=1e-9 * float(scale))


def _slice_chunk(chunk: Chunk, a: int, b: int) -> Chunk:
    return Chunk(*(None if part is None else part[a:b] for part in chunk[:3]), first=a)


def check_models_merge(model: Any, cut: int = 7777) -> None:
    """Models of two parts merge into the model of the whole; `partial_fit` likewise."""
    if not isinstance(model, OnePass) or model._samples_rows:  # parts with other landmarks
        return
    X, y = make_dataset(model)
    y = np.zeros(len(X)) if y is None else y
    cut = cut if cut < len(X) else len(X) // 3
    whole = clone_model(model).fit(X, y)
    a, b = clone_model(model).fit(X[:cut], y[:cut]), clone_model(model).fit(X[cut:], y[cut:])
    classes = {"classes": np.unique(y)} if is_classifier(model) else {}
    updated = clone_model(model).partial_fit(X[:cut], y[:cut], **classes)
    updated.partial_fit(X[cut:], y[cut:])
    for other in (merge(a, b), updated):
        for name, value in learned_attributes(whole).items():
            for got, want in zip(
                flatten_value(getattr(other, name)), flatten_value(value), strict=True
            ):
                if want is not None and not isinstance(want, str):
                    assert_allclose(got, want, rtol=1e-6, atol=1e-9, err_msg=name)


class SimulatedInterrupt(BaseException):
    """Stops a fit in the middle of a pass."""


def _fit_with_interrupt(model: Any, path: Path, chunks: int) -> Any:
    """Fit with a checkpoint; None if the fit is stopped after this many chunks or blocks."""
    remaining, result, blocks = [chunks], FoldTask.result, Rows.blocks

    def count() -> None:
        remaining[0] -= 1
        if remaining[0] == 0:
            raise SimulatedInterrupt

    def counted_result(task: FoldTask, chunk: Chunk) -> Any:
        count()
        return result(task, chunk)

    def counted_blocks(rows: Rows, seed: int | None = None) -> Iterator[Any]:
        for block in blocks(rows, seed):
            count()
            yield block

    try:
        with (
            mock.patch.object(FoldTask, "result", counted_result),
            mock.patch.object(Rows, "blocks", counted_blocks),
            checkpoint(path, every=0),
        ):
            return clone_model(model).fit(*make_dataset(model))
    except SimulatedInterrupt:
        return None


def check_checkpoint_resume(model: Any) -> None:
    """A fit that is stopped anywhere and resumed from its checkpoint ends with the same bits."""
    uninterrupted = clone_model(model).fit(*make_dataset(model))
    rng = np.random.default_rng(3)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fit.ckpt"
        resumed = _fit_with_interrupt(model, path, 2)
        assert resumed is None, "the fit was never stopped"
        for attempt in itertools.count():  # outputs of rows are not recorded: more and more chunks
            resumed = _fit_with_interrupt(model, path, int(rng.integers(2, 12 + attempt // 8)))
            if resumed is not None:
                break
    assert_bitwise_equal(uninterrupted, resumed, "after interrupts")
