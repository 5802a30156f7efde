"""Numbers of components by held-out rows, against models that are fitted fold by fold."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import tenfold
from tenfold import PCA, ProbabilisticPCA, cross_validate_components


@pytest.fixture(name="X")
def rows_of_factors():
    rng = np.random.default_rng(0)
    signal = rng.normal(size=(402, 3)) @ rng.normal(size=(3, 8))
    return signal + 0.5 * rng.normal(size=(402, 8)) + 5


def test_scores_from_moments_are_those_of_models_fitted_fold_by_fold(X):
    curve = cross_validate_components(X, folds=3)
    fold = np.arange(len(X)) % 3
    for k in (1, 3, 6):
        densities, squares, distances = [], [], []
        for f in range(3):
            test = X[fold == f]
            model = ProbabilisticPCA(k).fit(X[fold != f])
            densities.append(model.score_samples(test))
            basis = PCA(k).fit(X[fold != f])
            away = test - basis.inverse_transform(basis.transform(test))
            distances.append((away**2).sum(axis=1))
            for j in range(8):
                hidden = test.copy()
                hidden[:, j] = np.nan
                squares.append((model.impute(hidden)[:, j] - test[:, j]) ** 2)
        assert curve.log_likelihood[k - 1] == pytest.approx(np.concatenate(densities).mean())
        assert curve.prediction_error[k - 1] == pytest.approx(np.concatenate(squares).mean())
        assert curve.reconstruction_error[k - 1] == pytest.approx(np.concatenate(distances).mean())


def test_both_criteria_find_the_planted_number(X):
    for criterion in ("log_likelihood", "prediction"):
        assert cross_validate_components(X, criterion=criterion).n_components == 3
    curve = cross_validate_components(X)
    assert (np.diff(curve.reconstruction_error) < 0).all()  # by itself it would take all
    shares = PCA().fit(X).explained_variance_ratio_
    assert_allclose(curve.retained, np.cumsum(shares)[:7])


def test_pca_chooses_by_cross_validation_by_the_elbow_and_by_a_share(X):
    assert PCA("cv").fit(X).n_components_ == 3
    steep = X @ np.diag([9, 8, 7, 1, 1, 1, 1, 1.0])
    assert PCA("elbow").fit(steep).n_components_ in (2, 3)
    assert PCA(0.99).fit(X).n_components_ > 3
    assert PCA("elbow").fit(X[:, :1]).n_components_ == 1
    with pytest.raises(ValueError, match="use `fit`"):
        PCA("cv").partial_fit(X)


def test_the_same_bits_from_a_file_and_with_other_threads(X, tmp_path):
    wide = np.repeat(X, 60, axis=0) + np.arange(len(X) * 60)[:, None] * 1e-6
    np.save(tmp_path / "rows.npy", wide)
    a = cross_validate_components(wide)
    with tenfold.threads(3):
        b = cross_validate_components(tmp_path / "rows.npy")
    assert np.array_equal(a.log_likelihood, b.log_likelihood)
    assert np.array_equal(a.prediction_error, b.prediction_error)


def test_weights_are_repetitions_and_zero_weights_are_no_rows(X):
    w = np.zeros(len(X))
    w[:300] = 2.0
    rows = tenfold.open(np.column_stack([X, w]), weight=8)
    double = cross_validate_components(rows, folds=3)
    single = cross_validate_components(X[:300], folds=3)
    assert_allclose(double.log_likelihood, single.log_likelihood)


def test_errors_name_the_cure(X):
    with pytest.raises(ValueError, match="not one of"):
        cross_validate_components(X, criterion="r2")
    with pytest.raises(ValueError, match="folds=300"):
        cross_validate_components(X, folds=300)
    with pytest.raises(ValueError, match="between 1 and 7"):
        cross_validate_components(X, [0, 3])
    with pytest.raises(ValueError, match="columns"):
        cross_validate_components(X[:, :1])
