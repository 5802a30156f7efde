"""Which columns of a table are users, items, ratings and times, and the columns themselves."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.io.columnar import NumericColumn
from tenfold.recommend._id_codes import IdCodes

_WORDS = {
    "user": ("user", "customer", "client", "member", "visitor", "reader", "viewer", "listener",
             "person", "who", "student", "session", "account", "reviewer", "buyer"),
    "item": ("item", "movie", "film", "product", "book", "song", "track", "artist", "title",
             "article", "game", "course", "what", "sku", "asin", "isbn", "business", "anime"),
    "rating": ("rating", "score", "stars", "rate", "value", "count", "plays", "quantity",
               "preference", "weight", "clicks", "views", "listens", "play_count", "purchases"),
    "time": ("time", "timestamp", "date", "datetime", "when", "day", "year"),
}  # fmt: skip
_COUNTS = {"count", "plays", "quantity", "clicks", "views", "listens", "play_count", "purchases"}


def find_rating_columns(names: list[str]) -> dict[str, str]:
    """Columns of a table by their names: "user", "item", and "rating" and "time" if they are there.

    Examples
    --------
    >>> find_rating_columns(["timestamp", "userId", "movieId", "rating"])
    {'user': 'userId', 'item': 'movieId', 'rating': 'rating', 'time': 'timestamp'}
    """
    found: dict[str, str] = {}
    for role, words in _WORDS.items():
        for name in names:
            if name not in found.values() and _first_word(name) in words:
                found[role] = name
                break
    return found


def is_count_name(name: str) -> bool:
    """Whether a column of this name says how often something was done, not how it was liked.

    Examples
    --------
    >>> is_count_name("Play count"), is_count_name("rating")
    (True, False)
    """
    return _first_word(name) in _COUNTS


def _first_word(name: str) -> str:
    """A name without "id" and the like: userId, user_id, UserID and user are all "user"."""
    plain = name.strip().lower().replace("-", "_").replace(" ", "_")
    for end in ("_id", "id", "_name", "_key", "_no", "s"):
        if plain.endswith(end) and len(plain) > len(end) + 1:
            shorter = plain.removesuffix(end)
            if any(shorter in words for words in _WORDS.values()):
                return shorter
    return plain


class RatingTable(NamedTuple):
    """Ratings in the order of a table, ids as numbers.

    Parameters
    ----------
    pairs : ndarray of shape (n, 2)
        Numbers of user and item.
    value : ndarray of shape (n,)
        Ratings; 1 where the table has none.
    time : ndarray of shape (n,) or None
        When they were made.
    users, items : ndarray
        The ids.
    columns : dict
        Names of the columns by "user", "item", "rating" and "time".
    """

    pairs: np.ndarray
    value: np.ndarray
    time: np.ndarray | None
    users: np.ndarray
    items: np.ndarray
    columns: dict[str, str]

    def take(self, rows: np.ndarray) -> RatingTable:
        """Some of the ratings.

        Parameters
        ----------
        rows : ndarray
            Their numbers.
        """
        time = None if self.time is None else self.time[rows]
        return self._replace(pairs=self.pairs[rows], value=self.value[rows], time=time)


def read_rating_table(records: Any, rating: str | None = None) -> RatingTable:
    """All ratings of a table, and its columns by their names, else by their places.

    Parameters
    ----------
    records : TableSource
        The table.
    rating : str, optional
        Name of the column of ratings.
    """
    roles: dict[str, str] = find_rating_columns([n for n in records.names if n != rating])
    if not {"user", "item"} <= roles.keys():
        others = [name for name in records.names if name != rating]
        roles = dict(zip(_WORDS, others, strict=False))
    if rating is not None:
        roles["rating"] = rating
    if records.types.get(roles.get("time", "")) not in {"number", "date"}:
        roles.pop("time", None)  # words do not say which came first
    if not {"user", "item"} <= roles.keys():
        raise ValueError(f"{records.shown} needs a column of users and a column of items")
    codes = {role: IdCodes(role) for role in ("user", "item")}
    parts: dict[str, list[np.ndarray]] = {role: [] for role in roles}
    for first in range(0, records.n_rows, records.grid):
        cells = records.slice(first, min(first + records.grid, records.n_rows))
        for role, name in roles.items():
            column = cells[name]
            if role in codes:
                parts[role].append(codes[role].encode(column, first))
            elif role == "rating" and not isinstance(column, NumericColumn):
                raise ValueError(f"{records.shown}: the column {name!r} does not hold numbers")
            else:
                parts[role].append(_times(column) if role == "time" else column.values)
    columns = {role: np.concatenate(part) for role, part in parts.items()}
    ranks = {role: code.sorted_ids() for role, code in codes.items()}
    pairs = np.column_stack([ranks[role][1][columns[role]] for role in ("user", "item")])
    value = columns.get("rating", np.ones(len(pairs)))
    if not np.isfinite(value).all():
        row = int(np.argmax(~np.isfinite(value)))
        raise ValueError(f"{records.where(row)}: the rating is missing; leave out such rows")
    time = columns.get("time")
    return RatingTable(pairs, value, time, ranks["user"][0], ranks["item"][0], roles)


def _times(column: Any) -> np.ndarray:
    """Times as numbers, missing ones first."""
    missing = column.missing()
    return np.where(missing, -np.inf, np.where(missing, 0, column.values.astype(np.float64)))
