"""The evidence of a fitted regressor at other hyperparameters."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.base.estimator import Estimator
from tenfold.kernel._gradient_tiles import translate_kernel


class EvidenceOfFit(Estimator):
    """Models with a `kernel_`, whose evidence `_evidence_of` gives for any kernel."""

    def _evidence_of(self, kernel: Any, *, eval_gradient: bool) -> Any:
        """The evidence of the rows of the fit, with its gradient on request."""
        raise NotImplementedError

    def log_marginal_likelihood(
        self, theta: Any = None, eval_gradient: bool = False, clone_kernel: bool = True
    ) -> Any:
        """The evidence of the rows of the fit at other hyperparameters.

        Parameters
        ----------
        theta : (n_dims,) array, optional
            Logarithms of the hyperparameters; None takes those of the fit.
        eval_gradient : bool
            Whether to return the gradient as well; needs theta.
        clone_kernel : bool
            Whether `kernel_` keeps its hyperparameters; False sets them to theta.

        Returns
        -------
        log_likelihood : float
        log_likelihood_gradient : (n_dims,) array, if it was asked for
        """
        check_is_fitted(self)
        if theta is None:
            if eval_gradient:
                raise ValueError("Gradient can only be evaluated for theta!=None")
            return self.log_marginal_likelihood_value_
        kernel = self.kernel_.clone_with_theta(theta) if clone_kernel else self.kernel_
        kernel.theta = np.asarray(theta)
        with self._work_context():
            return self._evidence_of(translate_kernel(kernel), eval_gradient=eval_gradient)
