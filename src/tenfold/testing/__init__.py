"""The laws that every model obeys, as checks to run on any model.

`tests/testing/test_laws.py` runs all `LAWS` on all public models (`all_models()`). For a model of
your own: ``tenfold.testing.check(MyModel())``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tenfold.testing.bitwise import (
    assert_bitwise_equal,
    flatten_value,
    is_bitwise_equal,
    learned_attributes,
    model_outputs,
)
from tenfold.testing.explanation_law import check_explanations
from tenfold.testing.instances import (
    all_models,
    clone_model,
    make_dataset,
    make_model,
    set_seed,
    several_chunks,
)
from tenfold.testing.label_law import check_labels
from tenfold.testing.laws import (
    check_checkpoint_resume,
    check_chunk_size_invariance,
    check_float32,
    check_models_merge,
    check_objective_decreases,
    check_predict_is_pure,
    check_row_order_invariance,
    check_save_and_load,
    check_scikit_learn_contract,
    check_seeds,
    check_statistics_merge,
    check_storage_invariance,
    check_thread_invariance,
    check_weights_as_repetitions,
)
from tenfold.testing.missing_value_law import check_missing_values
from tenfold.testing.numerical_laws import check_convergence_flag, check_extreme_numbers
from tenfold.testing.storage import STORAGES

LAWS: tuple[Callable[[Any], None], ...] = (
    check_scikit_learn_contract,
    check_statistics_merge,
    check_models_merge,
    check_storage_invariance,
    check_thread_invariance,
    check_weights_as_repetitions,
    check_row_order_invariance,
    check_save_and_load,
    check_float32,
    check_predict_is_pure,
    check_objective_decreases,
    check_seeds,
    check_chunk_size_invariance,
    check_checkpoint_resume,
    check_explanations,
    check_labels,
    check_convergence_flag,
    check_extreme_numbers,
    check_missing_values,
)

__all__ = [  # noqa: PLE0604  (a law is public by being listed)
    "LAWS",
    "STORAGES",
    "assert_bitwise_equal",
    "check",
    "make_model",
    "clone_model",
    "learned_attributes",
    "all_models",
    "model_outputs",
    "flatten_value",
    "is_bitwise_equal",
    "set_seed",
    "several_chunks",
    "make_dataset",
    *(law.__name__ for law in LAWS),
]


def check(model: Any) -> None:
    """Run all laws on a model; the first violation raises an AssertionError.

    Parameters
    ----------
    model : Estimator
        An unfitted model.
    """
    with several_chunks(model):
        for law in LAWS:
            law(model)
