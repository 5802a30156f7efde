"""Names of the features that a model makes of encoded columns: bends of curves, products."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

PIECE = re.compile(r"__c(\d+)(?:_sp_(\d+))?(\^2)?(?= |$)")


def feature_names(features: Any, names: list[str]) -> list[str] | None:
    """What people call the features that a fitted transformer makes; None if they have no names.

    Parameters
    ----------
    features : transformer
        Of `tenfold.study.feature_maps`.
    names : list of str
        Of the encoded columns. They may hold anything, so the transformer is given other ones.
    """
    made = features.get_feature_names_out([f"c{j}" for j in range(len(names))])
    pieces = [PIECE.findall(name) for name in made]
    if not all(pieces):  # bumps around rows belong to no column
        return None
    bends = Counter(column for one in pieces if len(one) == 1 for column, bend, square in one
                    if bend and not square)  # fmt: skip
    return [" × ".join(_told(piece, names, bends) for piece in one) for one in pieces]


def _told(piece: tuple[str, str, str], names: list[str], bends: Counter) -> str:
    column, bend, square = piece
    name = names[int(column)]
    if bend and bends[column] > 1:
        name = f"{name} (bend {int(bend) + 1} of {bends[column]})"
    return f"{name}²" if square else name
