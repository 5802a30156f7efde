"""What classifiers by Laplace's approximation share: reports, checks and probabilities."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import CompoundKernel
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.base.mixins import Classifier
from tenfold.gaussian_process._hyperparameters import check_kernel_columns
from tenfold.kernel._gradient_tiles import translate_kernel
from tenfold.kernel.kernels import KERNEL_NAMES

LAPLACE_CONSTRAINTS: dict[str, Any] = {
    "kernel": [None, StrOptions(set(KERNEL_NAMES)), callable],
    "optimizer": [StrOptions({"fmin_l_bfgs_b"}), callable, None],
    "n_restarts_optimizer": [Interval(Integral, 0, None, closed="left")],
    "max_iter_predict": [Interval(Integral, 1, None, closed="left")],
    "multi_class": [StrOptions({"one_vs_rest", "one_vs_one", "softmax"})],
    "random_state": ["random_state"],
}


class LaplaceClassifier(Classifier):
    """A classifier with one or several approximations, in `laplace_`.

    Parameters
    ----------
    optimizer : "fmin_l_bfgs_b", callable or None
        How to maximize the evidence; None keeps the kernel as it is.
    n_restarts_optimizer : int
        Further starts, uniform within the bounds of the kernel.
    max_iter_predict : int
        Most steps of Newton's method for a mode.
    multi_class : {"one_vs_rest", "one_vs_one", "softmax"}
        How several classes are fitted.

    Attributes
    ----------
    classes_, n_classes_ : the labels and their number
    kernel_ : the fitted kernel; a compound of those of all approximations if there are several
    laplace_ : list of the approximations: of the latent function of the second of two classes, of
        each class, of each pair of classes, or of all classes at once
    n_iter_, converged_ : iterations of the search for hyperparameters (the most of several), and
        whether all searches, those for modes included, converged
    """

    _min_rows = 2

    def __init__(
        self,
        kernel: Any,
        optimizer: Any,
        n_restarts_optimizer: int,
        max_iter_predict: int,
        multi_class: str,
        random_state: Any,
    ) -> None:
        self.kernel = kernel
        self.optimizer = optimizer
        self.n_restarts_optimizer = n_restarts_optimizer
        self.max_iter_predict = max_iter_predict
        self.multi_class = multi_class
        self.random_state = random_state

    def _count_classes(self) -> int:
        """The number of classes, two or more."""
        k = len(self.classes_)
        if k == 1:
            raise ValueError(
                f"{type(self).__name__} requires 2 or more distinct classes; got 1 class (only "
                f"class {self.classes_.tolist()[0]!r} is present)"
            )
        return k

    def _summarize_fits(self, fits: list[tuple[Any, dict[str, Any]]]) -> dict[str, Any]:
        """Learned attributes of all approximations, from these and the reports of their fits."""
        found, reports = [fit[0] for fit in fits], [fit[1] for fit in fits]
        modes = all(each.converged for each in found)
        learned = {
            "n_classes_": len(self.classes_),
            "laplace_": found,
            "log_marginal_likelihood_value_": np.float64(np.mean([f.log_evidence for f in found])),
            "n_iter_": max(report.get("n_iter_", 0) for report in reports),
            "converged_": modes and all(report.get("converged_", True) for report in reports),
        }
        texts = [report["warning_"] for report in reports if "warning_" in report]
        if not modes:
            texts.append(
                f"did not find a mode in max_iter_predict={self.max_iter_predict} steps: raise it"
            )
        return {**learned, "warning_": texts[0]} if texts else learned

    def _expected_shapes(self) -> Iterator[tuple[Any, tuple]]:
        """For each approximation the rows of its kernel, and the arguments of `array_shapes`."""
        raise NotImplementedError

    def _check_learned(self) -> None:
        if self.n_classes_ != len(self.classes_):
            raise ValueError(f"n_classes_ is {self.n_classes_}, not {len(self.classes_)}")
        expected = list(self._expected_shapes())
        if len(expected) != len(self.laplace_):
            raise ValueError(f"laplace_ has {len(self.laplace_)} entries, not {len(expected)}")
        for i, ((X, sizes), found) in enumerate(zip(expected, self.laplace_, strict=True)):
            check_kernel_columns(found.kernel, X)
            for name, shape in found.array_shapes(*sizes).items():
                value = getattr(found, name)
                if np.shape(value) != shape or np.asarray(value).dtype.kind != "f":
                    raise ValueError(f"laplace_[{i}].{name} is not an array of shape {shape}")

    @property
    def kernel_(self) -> Any:
        """The fitted kernel, or a compound of those of all approximations."""
        kernels = [each.kernel for each in self.laplace_]
        return kernels[0] if len(kernels) == 1 else CompoundKernel(kernels)

    def latent_mean_and_variance(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Moments of the latent function, for two classes.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.

        Returns
        -------
        latent_mean, latent_var : (n_samples,) arrays
        """
        check_is_fitted(self)
        if self.n_classes_ > 2:
            raise ValueError(
                "Returning the mean and variance of the latent function f is only supported for "
                f"binary classification, received {self.n_classes_} classes."
            )
        moments = self._map(X, *self._latent_moments())
        return moments[:, 0], moments[:, 1]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class for each row, (n, k), the latent function averaged out.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        if self.n_classes_ > 2 and self.multi_class == "one_vs_one":
            raise ValueError(
                "one_vs_one multi-class mode does not support predicting probability estimates. "
                "Use one_vs_rest mode instead."
            )
        return self._map(X, *self._probabilities())

    def _latent_moments(self) -> tuple:
        """A chunk function and its state: moments of the latent function of two classes."""
        raise NotImplementedError

    def _probabilities(self) -> tuple:
        """A chunk function and its state: probabilities of all classes."""
        raise NotImplementedError

    def _map(self, X: Any, f: Callable[..., np.ndarray], *state: Any) -> np.ndarray:
        """Outputs for rows."""
        return self._map_rows(X, f, *state)

    def _translate_kernels(self) -> list[Any]:
        """The approximations with kernels of tenfold."""
        return [each._replace(kernel=translate_kernel(each.kernel)) for each in self.laplace_]
