"""Ridge regression on landmarks: one pass over any number of rows."""

from __future__ import annotations

from copy import copy
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.base.mixins import Regressor
from tenfold.base.one_pass import OnePass
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.kernel._block import kernel_block
from tenfold.kernel._landmarks import LANDMARK_RULES, draw_landmarks, from_rows
from tenfold.kernel._model_base import KERNEL_CONSTRAINTS, KernelParameters, kernel_scores
from tenfold.kernel.kernel_ridge import as_penalties
from tenfold.kernel.object_kernels import is_precomputed, takes_objects
from tenfold.linear._cross_validation import CrossValidated, open_folds
from tenfold.model_selection._fold_models import fit_folds
from tenfold.stats.moments import GramStatistic, gram_statistic

LANDMARK_CONSTRAINTS: dict[str, Any] = {
    "n_components": [Interval(Integral, 1, None, closed="left")],
    "landmarks": [StrOptions(set(LANDMARK_RULES)), "array-like"],
    "fit_intercept": ["boolean"],
    "random_state": ["random_state"],
}
_CUTOFFS = {4: 1e-5, 8: 1e-8}  # of the landmarks' eigenvalues: products of rows square them
_NOISE_MARGIN = 3.0  # eigenvalues below so many times the most negative one are rounding
LANDMARK_SHAPES = {"components_": "m p", "dual_coef_": "m | m t"}


class LandmarkStatistic(NamedTuple):
    """Second moments of [k_m(x) y 1], and the landmarks that they belong to."""

    gram: GramStatistic
    landmarks: np.ndarray  # (m, p)

    def merge(self, other: LandmarkStatistic) -> LandmarkStatistic:
        """The statistic of both parts, which must have the same landmarks."""
        if not np.array_equal(self.landmarks, other.landmarks):
            raise ValueError(
                "the parts have other landmarks: give all of them the same array, "
                "landmarks=model.components_"
            )
        gram = GramStatistic(
            self.gram.n + other.gram.n,
            self.gram.products + other.gram.products,
            self.gram.rows + other.gram.rows,
        )
        return LandmarkStatistic(gram, self.landmarks)


def landmark_gram(chunk: Chunk, kernel: Any, marks: np.ndarray) -> GramStatistic:
    """Second moments of kernel values with landmarks and targets."""
    K = kernel_block(chunk.X, marks.astype(chunk.X.dtype), kernel)
    return gram_statistic(K, chunk.y.reshape(chunk.rows, -1), chunk.w, None)


class LandmarkModel(KernelParameters):
    """The choice of landmarks, and the scores of a model on them."""

    landmarks: Any
    n_components: int

    @property
    def _samples_rows(self) -> bool:  # type: ignore[override]
        return isinstance(self.landmarks, str)

    def _checked_rows(self, X: Any, y: Any, w: Any, *, reset: bool) -> Rows:
        if is_precomputed(self.kernel) or takes_objects(self.kernel):
            raise ValueError(
                f"kernel={self.kernel!r}: landmarks need rows; take KernelRidge or "
                "KernelLogisticRegression"
            )
        return super()._checked_rows(X, y, w, reset=reset)

    def _given_landmarks(self, n_features: int) -> np.ndarray:
        marks = np.asarray(self.landmarks, np.float64)
        if marks.ndim != 2 or marks.shape[1] != n_features:
            raise ValueError(
                f"landmarks has the shape {marks.shape}, but rows have {n_features} columns"
            )
        return marks

    def _choose_landmarks(self, rows: Rows, rng: np.random.Generator) -> np.ndarray:
        """The landmarks that are given, or drawn from the rows."""
        if not isinstance(self.landmarks, str):
            return self._given_landmarks(rows.n_features)
        kernel = self._kernel_object(rows.n_features)
        m = min(self.n_components, rows.n_rows)
        return draw_landmarks(rows, kernel, m, self.landmarks, rng).rows.astype(np.float64)

    def _predict_by_landmarks(self: Any, X: Any) -> np.ndarray:
        """Scores of rows by coefficients of landmarks and intercepts."""
        kernel = self._kernel_object(self.n_features_in_)
        marks, dual = self.components_.astype(np.float64), self.dual_coef_.astype(np.float64)
        return self._map_rows(X, landmark_scores, kernel, marks, dual, np.asarray(self.intercept_))


class NystroemRidge(LandmarkModel, OnePass, Regressor):
    r"""Kernel ridge regression on landmarks, from one pass over any number of rows.

    .. math:: \min_{a, b} \sum_i \omega_i (y_i - a \cdot k_m(x_i) - b)^2 + \alpha \, a^T K_{mm} a

    with the values :math:`k_m(x)` of x with m landmarks. The second moments of
    :math:`[k_m(x) \; y]` are the statistic: memory grows with :math:`m^2`, and all penalties come
    from it. With all rows as landmarks and no intercept this is `KernelRidge`. Given landmarks (an
    array) make the model mergeable: `partial_fit`, `tenfold.merge`, and all folds and penalties of
    a cross-validation come from one pass.

    Parameters
    ----------
    alpha : float
        Penalty. Second moments of float32 rows have fewer digits: give float64 rows for penalties
        far below 1, or what they leave free is left out.
    kernel, gamma, degree, coef0, kernel_params : Any
        The kernel, as in `KernelRidge`.
    n_components : int
        Number of landmarks m.
    landmarks : {"uniform", "kmeans", "leverage"} or (m, n_features) array
        How to draw them, as in `Nystroem`, or the landmarks themselves.
    fit_intercept : bool
        Whether there is an intercept b, which is not penalized.
    random_state : int, optional
        Seed of the landmarks.

    Attributes
    ----------
    components_ : (m, n_features) landmarks
    dual_coef_ : (m,) or (m, n_targets) coefficients a
    intercept_ : float or (n_targets,) intercept b
    statistic_ : the moments

    See Also
    --------
    NystroemRidgeCV : Chooses the penalty by folds, all from one pass.
    KernelRidge : Exact, for few rows.
    Nystroem : The features for other models.

    References
    ----------
    C. K. I. Williams and M. Seeger (2001), Using the Nyström method to speed up kernel machines.

    A. Rudi, R. Camoriano and L. Rosasco (2015), Less is more: Nyström computational regularization.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import NystroemRidge
    >>> X = np.linspace(0, 6, 500)[:, None]
    >>> model = NystroemRidge(1e-3, gamma=1.0, n_components=20, random_state=0)
    >>> bool(model.fit(X, np.sin(X[:, 0])).score(X, np.sin(X[:, 0])) > 0.999)
    True
    """

    _sparse_ok = True
    _multi_output = True
    _chunk_rows = 2048  # a chunk meets all landmarks
    _law_params = {"n_components": 30, "gamma": 0.01}
    _float64_learned = ("dual_coef_",)  # small penalties make them large: they need the digits
    _learned_shapes = LANDMARK_SHAPES
    _statistic_depends_on = (
        "kernel",
        "gamma",
        "degree",
        "coef0",
        "kernel_params",
        "n_components",
        "landmarks",
    )
    _parameter_constraints = {
        "alpha": [Interval(Real, 0, None, closed="left")],
        **KERNEL_CONSTRAINTS,
        **LANDMARK_CONSTRAINTS,
    }

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        kernel: Any = "rbf",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        n_components: int = 100,
        landmarks: Any = "uniform",
        fit_intercept: bool = True,
        random_state: Any = None,
    ) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.n_components = n_components
        self.landmarks = landmarks
        self.fit_intercept = fit_intercept
        self.random_state = random_state

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        statistic = self._moments_with(rows, self._choose_landmarks(rows, rng))
        return self._from_statistic(statistic, rows.dtype)

    def _statistic(self, rows: Rows) -> LandmarkStatistic:
        known = getattr(self, "components_", None)  # partial_fit goes on with its landmarks
        if known is None or not isinstance(self.landmarks, str):
            known = self._choose_landmarks(rows, self._rng())
        return self._moments_with(rows, np.asarray(known, np.float64))

    def _moments_with(self, rows: Rows, marks: np.ndarray) -> LandmarkStatistic:
        shape = rows.target_shape
        self._single_target = not shape
        kernel = self._kernel_object(rows.n_features)
        return LandmarkStatistic(rows.total(landmark_gram, kernel, marks), marks)

    def _has_statistic(self, rows: Rows) -> bool:
        return not isinstance(self.landmarks, str)  # else each fold draws its own

    def _finalize(self, s: LandmarkStatistic, dtype: np.dtype) -> dict[str, Any]:
        return self._solve(s, self._decompose(s, dtype), dtype)

    def _models_from_statistic(
        self, statistic: LandmarkStatistic, dtype: np.dtype, settings: list[dict], /
    ) -> list[Any]:
        """Fitted models with these parameters, all penalties from one decomposition."""
        models = [copy(self).set_params(**each) for each in settings]
        spectra: dict[bool, _Spectrum] = {}
        for model in models:
            model._validate_params()
            key = model.fit_intercept
            if key not in spectra:
                spectra[key] = model._decompose(statistic, dtype)
            learned = model._solve(statistic, spectra[key], dtype)
            model._set_learned({**learned, "statistic_": statistic, "dtype_": dtype})
        return models

    def _decompose(self, s: LandmarkStatistic, dtype: np.dtype) -> _Spectrum:
        kernel = self._kernel_object(s.landmarks.shape[1])
        root = from_rows(s.landmarks, kernel).root(dtype, _CUTOFFS[np.dtype(dtype).itemsize])
        return _Spectrum.of(s.gram, root, fit_intercept=self.fit_intercept)

    def _solve(self, s: LandmarkStatistic, found: _Spectrum, dtype: np.dtype) -> dict[str, Any]:
        """Learned attributes for the penalty of this model."""
        dual, intercept = found.solve(self.alpha)
        single = getattr(self, "_single_target", dual.shape[1] == 1)
        return {
            "components_": s.landmarks.astype(dtype),
            "dual_coef_": dual[:, 0] if single else dual,
            "intercept_": float(intercept[0]) if single else intercept.astype(dtype),
        }

    def predict(self, X: Any) -> np.ndarray:
        """Predicted target of each row, (n_rows,) or (n_rows, n_targets).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        return self._predict_by_landmarks(X)


class _Spectrum(NamedTuple):
    """The moments in the basis in which all penalties are diagonal."""

    basis: np.ndarray  # (m, r) coefficients of landmarks: K_mm^(-1/2) Q
    values: np.ndarray  # (r,) eigenvalues
    cross: np.ndarray  # (r, t) products with the targets
    means: np.ndarray  # (m,) means of kernel values, 0 without an intercept
    target_means: np.ndarray  # (t,)
    noise: float  # eigenvalues below it are rounding errors of the moments

    @classmethod
    def of(cls, gram: GramStatistic, root: np.ndarray, *, fit_intercept: bool) -> _Spectrum:
        """Decompose the moments of rows, with K_mm^(-1/2) of the landmarks."""
        m = len(root)
        n, products = gram.n, gram.products
        means = products[-1, :-1] / n if fit_intercept else np.zeros(len(products) - 1)
        scatter = products[:-1, :-1] - n * np.outer(means, means)
        A = root @ scatter[:m, :m] @ root
        values, vectors = np.linalg.eigh(0.5 * (A + A.T))
        basis = root @ vectors
        largest = float(values[-1])
        noise = max(_NOISE_MARGIN * -float(values[0]), np.finfo(np.float64).eps * largest, 1e-300)
        cross = basis.T @ scatter[:m, m:]
        return cls(basis, np.maximum(values, 0.0), cross, means[:m], means[m:], noise)

    def solve(self, alpha: float) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients of landmarks (m, t) and intercepts for a penalty.

        What is neither penalized nor known beyond rounding gets no coefficient: it would be the
        error divided by almost nothing.
        """
        strengths = self.values + alpha
        known = strengths > self.noise
        inverse = np.divide(1.0, strengths, out=np.zeros_like(strengths), where=known)
        dual = self.basis @ (inverse[:, None] * self.cross)
        return dual, self.target_means - self.means @ dual


def landmark_scores(
    chunk: Chunk, kernel: Any, marks: np.ndarray, dual: np.ndarray, intercept: np.ndarray
) -> np.ndarray:
    """Scores of rows: sums of kernel values with landmarks, and intercepts."""
    return kernel_scores(chunk, kernel, marks, dual) + intercept.astype(chunk.X.dtype)


class NystroemRidgeCV(LandmarkModel, CrossValidated, Regressor):
    r"""Kernel ridge regression on landmarks, with the penalty chosen by cross-validation.

    Landmarks are drawn once, without looking at targets. Then one pass gives the moments of each
    fold, from which all penalties of all folds and their errors on the rows that were left out
    come, and one more pass makes the final fit.

    Parameters
    ----------
    alphas : array
        The penalties.
    kernel, gamma, degree, coef0, kernel_params, n_components, landmarks, fit_intercept : Any
        As in `NystroemRidge`.
    cv : int, scikit-learn splitter, or pairs of arrays of row numbers, optional
        The folds, 5 by default.
    random_state : int, optional
        Seed of the landmarks.

    Attributes
    ----------
    alpha_ : the penalty with the least mean squared error
    best_score_ : minus that error
    mse_path_ : (n_alphas, n_folds) mean squared errors on the rows that were left out
    components_, dual_coef_, intercept_ : as in `NystroemRidge`

    See Also
    --------
    NystroemRidge : With a given penalty.
    KernelRidgeCV : Exact, by leave-one-out, for few rows.

    References
    ----------
    A. Rudi, R. Camoriano and L. Rosasco (2015), Less is more: Nyström computational regularization.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import NystroemRidgeCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 6, size=(400, 1))
    >>> y = np.sin(X[:, 0]) + rng.normal(scale=0.3, size=400)
    >>> model = NystroemRidgeCV([1e-3, 0.1, 1e3], gamma=1.0, n_components=30, random_state=0)
    >>> model.fit(X, y).alpha_
    0.1
    """

    _sparse_ok = True
    _multi_output = True
    _min_rows = 2
    _chunk_rows = 2048  # a chunk meets all landmarks
    _law_params = {"n_components": 30, "gamma": 0.01}
    _float64_learned = ("dual_coef_",)  # small penalties make them large: they need the digits
    _learned_shapes = LANDMARK_SHAPES
    _parameter_constraints = {
        "alphas": ["array-like", Interval(Real, 0, None, closed="left")],
        **KERNEL_CONSTRAINTS,
        **LANDMARK_CONSTRAINTS,
        "cv": ["cv_object"],
    }

    def __init__(
        self,
        alphas: Any = (0.1, 1.0, 10.0),
        *,
        kernel: Any = "rbf",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        n_components: int = 100,
        landmarks: Any = "uniform",
        fit_intercept: bool = True,
        cv: Any = None,
        random_state: Any = None,
    ) -> None:
        self.alphas = alphas
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.n_components = n_components
        self.landmarks = landmarks
        self.fit_intercept = fit_intercept
        self.cv = cv
        self.random_state = random_state

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        alphas = as_penalties(self.alphas, "alphas")
        marks = self._choose_landmarks(rows, rng)
        shared = ("kernel", "gamma", "degree", "coef0", "kernel_params", "fit_intercept")
        ridge = NystroemRidge(landmarks=marks, **{name: getattr(self, name) for name in shared})
        folds = open_folds(ridge, rows, self.cv, self._fold_groups)
        candidates = [{"alpha": float(alpha)} for alpha in alphas]
        errors = []
        for split in folds.splits:
            data = folds.data.select(split.order)
            fitted = fit_folds(data, split, candidates)
            for models, test in zip(fitted.models, fitted.test_statistics or (), strict=True):
                errors.append([_mean_squared_error(model, test.gram) for model in models])
        mse = np.array(errors).T
        best = int(mse.mean(axis=1).argmin())
        ridge.set_params(alpha=float(alphas[best])).fit(rows)
        names = ("components_", "dual_coef_", "intercept_")
        return {
            "alpha_": float(alphas[best]),
            "best_score_": -float(mse[best].mean()),
            "mse_path_": mse.astype(rows.dtype),
            **{name: getattr(ridge, name) for name in names},
        }

    def predict(self, X: Any) -> np.ndarray:
        """Predicted target of each row, (n_rows,) or (n_rows, n_targets).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        return self._predict_by_landmarks(X)


def _mean_squared_error(model: NystroemRidge, gram: GramStatistic) -> float:
    """Mean squared error over targets of a model on rows with these moments."""
    dual = model.dual_coef_.astype(np.float64).reshape(len(model.components_), -1)
    t = dual.shape[1]
    intercept = np.broadcast_to(np.asarray(model.intercept_, np.float64), t)
    weights = np.vstack([-dual, np.eye(t), -intercept[None]])  # y - a.k - b of [k y 1]
    squares = np.einsum("ij,ij->j", weights, gram.products @ weights)
    return float(squares.mean() / gram.n)
