"""What a checkpoint packs comes back to the bit."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tenfold.callbacks import checkpoint_file
from tenfold.callbacks.serialization import named_classes, pack, unpack
from tests.callbacks.same_values import assert_same

PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text()


ARRAYS = hnp.arrays(
    hnp.scalar_dtypes() | hnp.unicode_string_dtypes() | hnp.byte_string_dtypes(),
    hnp.array_shapes(min_dims=0, min_side=0, max_side=3),
)


class Pair(NamedTuple):
    left: object
    right: object


class Sorted(tuple):
    """A tuple of its own class without names."""

    __slots__ = ()


VALUES = st.recursive(
    PLAIN | ARRAYS | ARRAYS.map(lambda a: a.T) | ARRAYS.filter(np.size).map(lambda a: a.ravel()[0]),
    lambda part: (
        st.lists(part)
        | st.lists(part).map(tuple)
        | st.lists(part).map(Sorted)
        | st.builds(Pair, part, part)
        | st.dictionaries(st.text() | st.integers() | st.tuples(st.integers(), st.text()), part)
    ),
    max_leaves=8,
)


@settings(deadline=None, max_examples=60)
@given(VALUES)
def test_what_was_packed_comes_back_to_the_bit(tmp_path_factory, value):
    path = tmp_path_factory.getbasetemp() / "packed.ckpt"
    kept = checkpoint_file.CheckpointFile(path, 1.0)
    kept.records = [checkpoint_file.CheckpointRecord("pass", {"rows": 3}, pack(value))]
    kept.save(None)
    (record,) = checkpoint_file.CheckpointFile(path, 1.0).records
    path.unlink()
    assert_same(unpack(record.content, named_classes(value)), value)


@pytest.mark.parametrize("axes", [(0, 1, 2), (2, 1, 0), (1, 0, 2), (0, 2, 1), (2, 0, 1)])
def test_layout_comes_back(axes):
    array = np.arange(24.0).reshape(2, 3, 4).transpose(axes)
    again = unpack(pack(array), {})
    assert again.strides == array.strides
    assert np.array_equal(again, array)


def test_object_arrays_of_labels_come_back_and_others_are_refused():
    labels = np.array([["yes", None], [1, 2.5]], object)
    assert_same(unpack(pack(labels), {}).tolist(), labels.tolist())
    with pytest.raises(TypeError, match="cannot be checkpointed"):
        pack(np.array([object()]))
    with pytest.raises(TypeError, match="MaskedArray"):
        pack(np.ma.masked_array([1.0], [True]))
