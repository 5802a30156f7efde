"""Gaussian emissions: compiled loops and blocks against the components of mixtures."""

from __future__ import annotations

import numpy as np
import pytest

from tenfold import GaussianHMM
from tenfold.mixture._gaussian import GaussianFamily
from tenfold.sequence._hmm_emissions import (
    BlockView,
    ColumnView,
    ComponentView,
    GaussianEmission,
    GaussianPrior,
)

STATES, COLUMNS = 3, 4


def draw_emission(kind: str) -> GaussianEmission:
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(STATES, COLUMNS, COLUMNS))
    full = factors @ np.swapaxes(factors, 1, 2) + np.eye(COLUMNS)
    diagonal = np.diagonal(full, axis1=1, axis2=2).copy()
    covariances = {
        "full": full,
        "tied": full[0],
        "diag": diagonal,
        "spherical": diagonal[:, 0].copy(),
    }
    return GaussianEmission(kind, 5 * rng.normal(size=(STATES, COLUMNS)), covariances[kind])


@pytest.mark.parametrize(
    ("kind", "view"),
    [("diag", ColumnView), ("spherical", ColumnView), ("full", BlockView), ("tied", BlockView)],
)
@pytest.mark.parametrize("n", [1, 700, 20_000])
def test_views_of_complete_steps_agree_with_components_of_mixtures(
    kind: str, view: type, n: int
) -> None:
    rng = np.random.default_rng(1)
    emission, X = draw_emission(kind), 4 * rng.normal(size=(n, COLUMNS))
    probabilities = rng.dirichlet(np.ones(STATES), n).T.copy()
    mine = emission.prepare(X)
    whole = ComponentView.of(GaussianFamily(kind).components(emission.parameters), X)
    assert isinstance(mine, view)
    np.testing.assert_allclose(mine.log_densities(), whole.log_densities(), rtol=1e-10)
    pairs = zip(mine.statistic(probabilities), whole.statistic(probabilities), strict=True)
    for found, wanted in pairs:
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9 * np.abs(wanted).max())


@pytest.mark.parametrize("kind", ["diag", "full"])
def test_steps_with_missing_entries_leave_the_quick_way(kind: str) -> None:
    X = np.random.default_rng(2).normal(size=(50, COLUMNS))
    whole = draw_emission(kind).prepare(X).log_densities()
    X[7, 1] = np.nan
    found = draw_emission(kind).prepare(X).log_densities()
    np.testing.assert_allclose(np.delete(found, 7, 1), np.delete(whole, 7, 1), rtol=1e-10)
    assert np.isfinite(found).all()


@pytest.mark.parametrize("kind", ["diag", "spherical", "full", "tied"])
def test_a_prior_that_is_almost_flat_leads_to_maximum_likelihood(kind: str) -> None:
    rng = np.random.default_rng(3)
    emission, X = draw_emission(kind), 4 * rng.normal(size=(500, COLUMNS))
    probabilities = rng.dirichlet(np.ones(STATES), 500).T.copy()
    statistic = emission.prepare(X).statistic(probabilities)
    flat, almost = GaussianPrior(), GaussianPrior(means_weight=1e-13, covars=1e-13)
    assert flat.is_flat(kind, COLUMNS)
    assert not almost.is_flat(kind, COLUMNS)
    a, b = (emission.update(statistic, prior) for prior in (flat, almost))
    np.testing.assert_allclose(a.means, b.means, rtol=1e-9)
    np.testing.assert_allclose(a.covariances, b.covariances, rtol=1e-9, atol=1e-12)


def test_an_error_about_empty_sequences_speaks_of_what_was_asked() -> None:
    model = GaussianHMM(2, random_state=0, n_iter=1, tol=np.inf)
    model.fit(np.random.default_rng(0).normal(size=(40, 1)))
    empty = np.empty((0, 1))
    with pytest.raises(ValueError, match="no step to learn from"):
        GaussianHMM(2).fit(empty, [0])
    with pytest.raises(ValueError, match="no step to score or decode"):
        model.score(empty, [0])
