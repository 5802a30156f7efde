"""The list of first names by which character models are compared."""

import os

import pytest

from tenfold import NGramModel, SoftmaxLanguageModel
from tenfold.datasets import fetch_names

pytestmark = pytest.mark.skipif("TENFOLD_DATA" not in os.environ, reason="needs TENFOLD_DATA")


def test_pairs_of_letters_of_names_cost_what_is_published():
    """2.454 nats a letter by counting; the softmax of pairs finds the same table by descent."""
    names = fetch_names().data
    table = NGramModel(2, unit="character", smoothing="none").fit(names)
    assert -table.score(names) == pytest.approx(2.4540, abs=5e-5)
    softmax = SoftmaxLanguageModel(2, unit="character", alpha=0).fit(names)
    assert -softmax.score(names) == pytest.approx(-table.score(names), abs=1e-4)


def test_tables_of_names_beat_the_published_tables():
    """A smoothed table of four letters costs 2.10 nats on names held out; ours at most that."""
    names = fetch_names().data
    train, test = names[1::2], names[::2]
    losses = [-NGramModel(n, unit="character").fit(train).score(test) for n in (2, 3, 4)]
    assert losses == sorted(losses, reverse=True)
    assert losses[2] < 2.10
