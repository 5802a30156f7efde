"""Base class of elastic nets whose penalty is chosen by cross-validation."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_scalar

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.engine.rows import Rows
from tenfold.linear._base import LinearRegressor
from tenfold.linear._cross_validation import CrossValidated, open_folds
from tenfold.linear._elastic_net_folds import fit_paths
from tenfold.linear._lasso_path import alpha_sequence
from tenfold.linear._lasso_working_set import LassoSettings, warn_unless_converged

PATH_CONSTRAINTS: dict[str, Any] = {
    "eps": [Interval(Real, 0, None, closed="neither")],
    "alphas": [Interval(Integral, 1, None, closed="left"), "array-like"],
    "fit_intercept": ["boolean"],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "tol": [Interval(Real, 0, None, closed="left")],
    "copy_X": ["boolean"],
    "cv": ["cv_object"],
    "verbose": ["verbose"],
    "n_jobs": [Integral, None],
    "random_state": ["random_state"],
    "selection": [StrOptions({"cyclic", "random"})],
}
SINGLE_TASK_CONSTRAINTS: dict[str, Any] = {
    **PATH_CONSTRAINTS,
    "precompute": [StrOptions({"auto"}), "array-like", "boolean"],
    "positive": ["boolean"],
}
L1_RATIO_CONSTRAINT = [Interval(Real, 0, 1, closed="both"), "array-like"]


class ElasticNetSearch(CrossValidated, LinearRegressor):
    """Elastic nets along a path in every fold; the penalty with the least error is fitted to all.

    A subclass says which models are fitted, and has the parameters of scikit-learn's class.
    """

    _sparse_ok = True
    _law_params = {"alphas": 5, "cv": 3}
    precompute: Any = False
    positive = False
    l1_ratio: Any = 1.0

    @abstractmethod
    def _models(self) -> tuple[Any, Any]:
        """The model to be fitted to all rows, and that of the folds; without a penalty."""

    def _shared_params(self) -> dict[str, Any]:
        """Parameters of the models of folds, and of the last one."""
        names = ("fit_intercept", "max_iter", "tol", "random_state", "selection")
        return {name: getattr(self, name) for name in names}

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        final, fold = self._models()
        gram, l1_ratios = final._gram(rows), np.atleast_1d(self.l1_ratio).astype(np.float64)
        sequences = np.stack([self._alphas(gram.xy, ratio) for ratio in l1_ratios])
        candidates = [
            {"l1_ratio": float(ratio), "alpha": float(alpha)}
            for ratio, alphas in zip(l1_ratios, sequences, strict=True)
            for alpha in alphas
        ]
        folds = open_folds(fold, rows, self.cv, self._fold_groups)
        found = folds.scores(candidates, "neg_mean_squared_error", fit=fit_paths)
        solutions = [model._solution for models in found.models for model in models]
        warn_unless_converged(solutions, LassoSettings(self.tol, self.max_iter, 0))
        errors = -found.scores.reshape(-1, *sequences.shape)  # (folds, l1_ratios, alphas)
        best = int(np.argmin(errors.mean(axis=0)))
        final.alpha, final.l1_ratio = candidates[best]["alpha"], candidates[best]["l1_ratio"]
        given = not isinstance(self.alphas, Integral)
        learned = final._fit_gram(gram, rows, rng)
        learned |= {
            "alpha_": final.alpha,
            "l1_ratio_": final.l1_ratio,
            "alphas_": sequences[0] if given or len(sequences) == 1 else sequences,
            "mse_path_": np.squeeze(np.moveaxis(errors, 0, -1)).astype(rows.dtype),
        }
        kept = ("eps_",) if "l1_ratio" in self.get_params(deep=False) else ("eps_", "l1_ratio_")
        return {name: value for name, value in learned.items() if name not in kept}

    def _alphas(self, xy: np.ndarray, l1_ratio: float) -> np.ndarray:
        """The penalties of a path, descending."""
        if not isinstance(self.alphas, Integral):
            for number, alpha in enumerate(self.alphas):
                check_scalar(alpha, f"alphas[{number}]", target_type=Real, min_val=0.0)
        return alpha_sequence(xy, l1_ratio, self.alphas, self.eps, positive=self.positive)
