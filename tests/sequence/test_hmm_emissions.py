"""Gaussian emissions: compiled loops and blocks against the components of mixtures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tenfold import GaussianHMM
from tenfold.engine.merge_tree import merge
from tenfold.mixture._gaussian import GaussianFamily
from tenfold.mixture._moments import moments_about_means
from tenfold.sequence._gaussian_steps import BlockView, ColumnView, ComponentView, MatrixView
from tenfold.sequence._hmm_emissions import GaussianEmission, GaussianPrior

STATES, COLUMNS = 3, 4
HALVES = slice(30), slice(30, None)


def draw_emission(kind: str, p: int = COLUMNS) -> GaussianEmission:
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(STATES, p, p))
    full = factors @ np.swapaxes(factors, 1, 2) + np.eye(p)
    diagonal = np.diagonal(full, axis1=1, axis2=2).copy()
    covariances = {
        "full": full,
        "tied": full[0],
        "diag": diagonal,
        "spherical": diagonal[:, 0].copy(),
    }
    return GaussianEmission(kind, 5 * rng.normal(size=(STATES, p)), covariances[kind])


@pytest.mark.parametrize(
    ("kind", "view"),
    [("diag", ColumnView), ("spherical", ColumnView), ("full", MatrixView), ("tied", BlockView)],
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
    assert_same_moments(mine.statistic(probabilities), whole.statistic(probabilities), emission)


def assert_same_moments(found: Any, wanted: Any, emission: GaussianEmission) -> None:
    state = emission.parameters.weights, emission.means
    pairs = zip(
        moments_about_means(found, *state), moments_about_means(wanted, *state), strict=True
    )
    for one, other in pairs:
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9 * np.abs(other).max())


@pytest.mark.parametrize("p", [1, 2, 3, 5, 11, 70])
def test_full_covariances_of_any_width_agree_with_components_of_mixtures(p: int) -> None:
    rng = np.random.default_rng(5)
    emission, X = draw_emission("full", p), 4 * rng.normal(size=(300, p))
    probabilities = rng.dirichlet(np.ones(STATES), 300).T.copy()
    mine = emission.prepare(X)
    assert isinstance(mine, MatrixView if p <= 64 else BlockView)
    whole = ComponentView.of(GaussianFamily("full").components(emission.parameters), X)
    np.testing.assert_allclose(mine.log_densities(), whole.log_densities(), rtol=1e-10)
    assert_same_moments(mine.statistic(probabilities), whole.statistic(probabilities), emission)


def test_moments_of_steps_with_and_without_gaps_add_up() -> None:
    rng = np.random.default_rng(6)
    emission, X = draw_emission("full"), 4 * rng.normal(size=(60, COLUMNS))
    X[7, 1] = np.nan
    probabilities = rng.dirichlet(np.ones(STATES), 60).T.copy()
    whole = emission.prepare(X).statistic(probabilities)
    parts = [emission.prepare(X[own]).statistic(probabilities[:, own]) for own in HALVES]
    assert_same_moments(merge(*parts), whole, emission)


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
