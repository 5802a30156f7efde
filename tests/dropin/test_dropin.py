"""scikit-learn's own tests pass with our models, but for a list of exceptions with reasons.

The files here are those that run in seconds; `python -m tests.dropin FILE...` runs any other.
"""

import pytest

from tests.dropin.runner import read_exceptions, run_files, unexpected_failures
from tests.dropin.swap import PACKAGE, shared_names, swap_imports

FILES = [
    "cluster/tests/test_hierarchical.py",
    "compose/tests/test_target.py",
    "decomposition/tests/test_factor_analysis.py",
    "decomposition/tests/test_fastica.py",
    "decomposition/tests/test_incremental_pca.py",
    "decomposition/tests/test_online_lda.py",
    "decomposition/tests/test_dict_learning.py",
    "decomposition/tests/test_nmf.py",
    "decomposition/tests/test_sparse_pca.py",
    "frozen/tests/test_frozen.py",
    "impute/tests/test_knn.py",
    "linear_model/tests/test_base.py",
    "linear_model/tests/test_bayes.py",
    "linear_model/tests/test_huber.py",
    "linear_model/tests/test_perceptron.py",
    "manifold/tests/test_classical_mds.py",
    "manifold/tests/test_isomap.py",
    "manifold/tests/test_locally_linear.py",
    "manifold/tests/test_mds.py",
    "manifold/tests/test_spectral_embedding.py",
    "manifold/tests/test_t_sne.py",
    "neighbors/tests/test_nearest_centroid.py",
    "neural_network/tests/test_mlp.py",
    "svm/tests/test_bounds.py",
    "svm/tests/test_svm.py",
    "tests/test_multiclass.py",
]


@pytest.mark.slow
def test_scikit_learns_tests_pass_but_for_the_exceptions():
    for found in run_files(FILES, minutes=30):
        assert not found.error
        assert found.passed, found.file
        assert not unexpected_failures(found), found.file


def test_every_exception_has_a_reason_and_names_a_test():
    for file, tests in read_exceptions().items():
        text = (PACKAGE / file).read_text()
        for name, reason in tests.items():
            assert f"def {name.partition('[')[0]}(" in text, (file, name)
            assert len(reason) > 10, (file, name)


def test_only_names_that_both_libraries_have_are_swapped():
    text = (
        "from sklearn.linear_model import Ridge as R, Lars\n"
        "from sklearn.linear_model._ridge import (\n    Ridge,\n)\n"
        "from sklearn import svm\n"
        "def test():\n    from sklearn.pipeline import Pipeline\n    import sklearn.utils\n"
    )
    scope = {}
    swapped = swap_imports(text, "sklearn.linear_model.tests")
    assert len(swapped.splitlines()) == len(text.splitlines()) + 4
    exec(swapped, scope)  # the lines that are run are those above
    assert scope["R"].__module__ == scope["Ridge"].__module__ == "tenfold.linear.ridge"
    assert scope["Lars"].__module__.startswith("sklearn.")
    assert scope["svm"].LinearSVC.__module__.startswith("tenfold.")
    assert scope["svm"].l1_min_c.__module__.startswith("sklearn.")
    assert {"Ridge", "lasso_path", "cross_validate"} <= shared_names().keys()
