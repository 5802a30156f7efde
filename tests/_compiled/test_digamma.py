"""Digamma and log-gamma against scipy."""

import numpy as np
from numpy.testing import assert_allclose
from scipy.special import gammaln, psi

from tenfold._compiled.digamma import digamma, exp_digamma, log_gamma

X = np.logspace(-8, 15, 2000)


def test_digamma_is_that_of_scipy():
    assert_allclose([digamma(x) for x in X], psi(X), rtol=1e-12, atol=1e-13)


def test_log_gamma_is_that_of_scipy():
    assert_allclose([log_gamma(x) for x in X], gammaln(X), rtol=1e-12, atol=1e-13)
    assert_allclose(log_gamma(1e40), gammaln(1e40), rtol=1e-12)


def test_exp_digamma_does_not_underflow_where_all_arguments_are_tiny():
    for x in (np.array([0.2, 3.0, 100.0]), np.array([1e-4, 2e-4, 1e-3])):
        out = np.empty(3)
        log_factor = exp_digamma(x, out)
        assert out.max() > 1
        shares = np.exp(np.maximum(psi(x) - psi(x).max(), -340))
        assert_allclose(out / out.max(), shares, rtol=1e-11, atol=1e-140)
        assert_allclose(np.log(out.max()) + log_factor, psi(x).max(), rtol=1e-12)
