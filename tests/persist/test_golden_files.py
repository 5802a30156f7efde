"""Files that were written once can be read for ever, and predict what they predicted then."""

import numpy as np
import pytest
from make_golden import GOLDEN, OBJECTS, to_array
from numpy.testing import assert_allclose, assert_array_equal

import tenfold


@pytest.mark.parametrize("name", OBJECTS)
def test_a_golden_file_predicts_the_stored_numbers(name):
    method, rows, _ = OBJECTS[name]
    expected = np.load(GOLDEN / f"{name}.npz")["arr_0"]
    output = to_array(getattr(tenfold.load(GOLDEN / f"{name}.tenfold"), method)(rows))
    if expected.dtype.kind == "f":
        assert_allclose(output, expected, rtol=1e-6, atol=1e-9)
    else:
        assert_array_equal(output, expected)
