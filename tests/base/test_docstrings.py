"""Docstrings describe what constructors take, also where a base class has the words."""

import re
from inspect import signature

import pytest

from tenfold.base.docstrings import inherit_descriptions
from tenfold.testing import all_models

CLASSES = {type(model).__name__: type(model) for model in all_models()}
TABLES = [name for name, cls in CLASSES.items() if "\n    Parameters\n" in cls.__doc__]


@pytest.mark.parametrize("name", sorted(TABLES))
def test_every_parameter_is_described_once(name):
    cls = CLASSES[name]
    section = re.split(r"\n    Parameters\n    -+\n", cls.__doc__)[1].partition("\n\n    ")[0]
    heads = re.findall(r"^    (\w[\w, ]*)(?: :|$)", section, re.MULTILINE)
    names = [word for head in heads for word in re.findall(r"\w+", head)]
    assert sorted(names) == sorted(set(signature(cls.__init__).parameters) - {"self"})


class Rows:
    """Rows that are searched.

    Parameters
    ----------
    p : float
        Power of the metric.
    k : int
        How many.

    Attributes
    ----------
    n_ : number of rows
    """


@inherit_descriptions
class Nearest(Rows):
    """The nearest rows.

    Parameters
    ----------
    k : int
        Number of neighbors.

        In all.

    Notes
    -----
    None.
    """

    def __init__(self, p, k):
        self.p, self.k = p, k


def test_a_class_keeps_its_own_words_and_takes_the_others_from_the_nearest_base():
    lines = [line.strip() for line in Nearest.__doc__.splitlines()]
    assert lines[2:-4] == [
        *("Parameters", "----------", "p : float", "Power of the metric."),
        *("k : int", "Number of neighbors.", "", "In all.", ""),
        *("Attributes", "----------", "n_ : number of rows", ""),
    ]
