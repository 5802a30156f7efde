"""What `NMF` and `MiniBatchNMF` share: parameters of the objective, inference, reconstruction."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils.validation import check_array, check_is_fitted

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.base.mixins import Transformer
from tenfold.decomposition._divergences import BETA_LOSSES, beta_of
from tenfold.decomposition._nmf_components import Penalties
from tenfold.decomposition._nmf_fit import COLD_STEPS, COLD_TOL, exact_step
from tenfold.decomposition._nmf_init import INIT_METHODS, CodeStart, DataSums, initialize
from tenfold.decomposition._nmf_steps import CodeStep, ComponentProducts, codes_of_rows
from tenfold.engine.rows import Rows

_MU_TOL = 1e-6  # of the largest code of a row: multiplicative steps of new rows end there


class NonNegativeModel(ClassNamePrefixFeaturesOutMixin, Transformer):
    """A factorization X = W H with W, H >= 0. Derive `NMF` or `MiniBatchNMF` from it."""

    _sparse_ok = True
    _scale_matters = False
    _chunk_rows = 1024
    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None, StrOptions({"auto"})],
        "init": [StrOptions(set(INIT_METHODS)), None],
        "beta_loss": [StrOptions(set(BETA_LOSSES)), Real],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "alpha_W": [Interval(Real, 0, None, closed="left")],
        "alpha_H": [Interval(Real, 0, None, closed="left"), StrOptions({"same"})],
        "l1_ratio": [Interval(Real, 0, 1, closed="both")],
        "verbose": ["verbose"],
    }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def _penalties(self, n: float, p: int) -> Penalties:
        """The penalties, scaled with the numbers of rows and columns as in scikit-learn."""
        alpha_H = self.alpha_W if self.alpha_H == "same" else self.alpha_H
        l1, l2 = self.l1_ratio, 1.0 - self.l1_ratio
        return Penalties(
            p * self.alpha_W * l1, p * self.alpha_W * l2, n * alpha_H * l1, n * alpha_H * l2
        )

    def _initial_factors(
        self, rows: Rows, sums: DataSums, given: tuple[Any, Any], rng: np.random.Generator
    ) -> tuple[np.ndarray, CodeStart | np.ndarray]:
        """ComponentProducts and codes to begin with: those given for init="custom", or own ones."""
        W, H = given
        k = self.n_components
        if self.init == "custom":
            k = None if k == "auto" else rows.n_features if k is None else k
            return _custom_factors(rows, W, H, k)
        if W is not None or H is not None:
            warnings.warn(
                "When init!='custom', provided W or H are ignored. Set  init='custom' to use them "
                "as initialization.",
                RuntimeWarning,
                stacklevel=5,
            )
        k = rows.n_features if k in (None, "auto") else k
        return initialize(rows, k, self.init, sums, rng)

    def _check_loss(self, least: float, solver: str) -> None:
        """Refuse data and solvers that do not go with the divergence."""
        beta = beta_of(self.beta_loss)
        if solver != "mu" and beta != 2:
            raise ValueError(
                f"Invalid beta_loss parameter: solver {solver!r} does not handle beta_loss = "
                f"{self.beta_loss!r}: take solver='mu'"
            )
        if least == 0 and beta <= 0:
            raise ValueError(
                "When beta_loss <= 0 and X contains zeros, the solver may diverge. Please add "
                "small values to X, or use a positive beta_loss."
            )

    def _inference_step(self, solver: str) -> CodeStep:
        """How codes of new rows are found."""
        beta = beta_of(self.beta_loss)
        penalties = self._penalties(1.0, self.n_features_in_)
        l1, l2 = penalties.l1_codes, penalties.l2_codes
        if solver != "mu":
            sparseness = getattr(self, "sparseness_W", None) or 0.0
            steps = self.max_iter if sparseness else COLD_STEPS
            step = CodeStep("cd", beta, l1, l2, steps, COLD_TOL, 0.0, sparseness, self._nan_ok)
            return step if sparseness else exact_step(step)
        return CodeStep("mu", beta, l1, l2, self._max_code_steps(), _MU_TOL, masked=self._nan_ok)

    def _max_code_steps(self) -> int:
        return self.max_iter

    def transform(self, X: Any) -> np.ndarray:
        """Codes of rows for the components, (n_rows, n_components).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows, non-negative.
        """
        check_is_fitted(self)
        H = ComponentProducts.of(np.ascontiguousarray(self.components_.T, np.float64))
        return self._map_rows(X, codes_of_rows, H, self._inference_step(self._code_solver()))

    def _code_solver(self) -> str:
        return "cd" if beta_of(self.beta_loss) == 2 else "mu"

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Rows with these codes: W H, (n_rows, n_features).

        Parameters
        ----------
        X : (n_rows, n_components) array or sparse matrix
            Codes, as `transform` returns them.
        """
        check_is_fitted(self)
        if not issparse(X):
            X = check_array(X, dtype=None)  # pyright: ignore[reportArgumentType]
        return X @ self.components_


def _custom_factors(rows: Rows, W: Any, H: Any, k: int | None) -> tuple[np.ndarray, np.ndarray]:
    """The factors that a user gave, checked."""
    for name, value in (("H", H), ("W", W)):
        if value is None:
            raise ValueError(f"init='custom' needs {name}: fit_transform(X, W=..., H=...)")
    k = len(H) if k is None else k
    factors = []
    shapes = {"H": (k, rows.n_features), "W": (rows.n_rows, k)}
    for name, value in (("H", H), ("W", W)):
        array = check_array(value, dtype=None)  # pyright: ignore[reportArgumentType]
        _check_factor(name, array, shapes[name], rows.dtype)
        factors.append(array)
    return factors[0].astype(np.float64), factors[1]


def _check_factor(name: str, array: np.ndarray, shape: tuple[int, int], dtype: Any) -> None:
    if array.shape != shape:
        axis = 0 if array.shape[0] != shape[0] else 1
        raise ValueError(
            f"Array with wrong {'first' if axis == 0 else 'second'} dimension passed to NMF (input "
            f"{name}). Expected {shape[axis]}, but got {array.shape[axis]}."
        )
    if array.dtype != dtype:
        raise TypeError(
            "H and W should have the same dtype as X. Got "
            f"{name}.dtype = {array.dtype}, and X.dtype = {dtype}."
        )
    if array.min() < 0:
        raise ValueError(f"Negative values in data passed to NMF (input {name})")
    if array.max() == 0:
        raise ValueError(f"Array passed to NMF (input {name}) is full of zeros.")
