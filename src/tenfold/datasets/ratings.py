"""Ratings of films: MovieLens, and the Netflix-like matrices of 6.86x."""

import numpy as np
from sklearn.utils import Bunch

from tenfold.datasets._base import (
    LoadedData,
    check_choice,
    decode_text,
    make_bunch,
    parse_numbers,
    parse_records,
    to_columns,
)
from tenfold.datasets.cache import archive_members, check_figure, find_file, read_bytes

_MOVIELENS_PARTS = {"all": ("u.data", 100_000)}
_MOVIELENS_PARTS |= {f"u{i}.base": (f"u{i}.base", 80_000) for i in range(1, 6)}
_MOVIELENS_PARTS |= {f"u{i}.test": (f"u{i}.test", 20_000) for i in range(1, 6)}
_MOVIELENS_PARTS |= {f"{name}.base": (f"{name}.base", 90_570) for name in ("ua", "ub")}
_MOVIELENS_PARTS |= {f"{name}.test": (f"{name}.test", 9_430) for name in ("ua", "ub")}
_NETFLIX_SHAPES = {"full": (1200, 1200), "small": (20, 5)}


def fetch_movielens_100k(*, part: str = "all", return_X_y: bool = False) -> LoadedData:
    """MovieLens 100k: 100,000 ratings of 1,682 films by 943 users.

    Parameters
    ----------
    part : {"all", "u1.base", "u1.test", ..., "u5.test", "ua.base", "ua.test", "ub.base", "ub.test"}
        All ratings, or one side of a published split: u1 to u5 are five folds, ua and ub hold out
        ten ratings of each user.
    return_X_y : bool
        Return only ``(data, target)``.

    Returns
    -------
    Bunch
        ``data`` (n, 2) int, user and film, counted from 0; ``target`` (n,) float, 1 to 5;
        ``timestamps``; ``users`` and ``films``, dicts of columns in the same count; ``genres``
        (1682, 19) of 0 and 1, ``genre_names``.

    Notes
    -----
    For research, not to be passed on: see the README in the archive.

    Examples
    --------
    >>> round(fetch_movielens_100k().target.mean(), 5)  # doctest: +SKIP
    3.52986
    """
    name, size = _MOVIELENS_PARTS[check_choice("part", part, _MOVIELENS_PARTS)]
    path = find_file("movielens-100k")
    pattern = rf"/({name}|u\.user|u\.item|u\.genre)$"
    files = {
        file.split("/")[-1]: raw.decode("latin-1") for file, raw in archive_members(path, pattern)
    }
    check_figure(path, "of the files", sorted(files), sorted([name, "u.genre", "u.item", "u.user"]))
    table = parse_numbers(path, files[name], "\t").astype(int)
    check_figure(path, f"(ratings, columns) in {name}", table.shape, (size, 4))
    users = parse_records(path, files["u.user"], "|", 5, quoted=False)
    films = parse_records(path, files["u.item"], "|", 24, quoted=False)
    check_figure(path, "(users, films)", (len(users), len(films)), (943, 1682))
    film_names = ["id", "title", "release", "video_release", "url"]
    return make_bunch(
        return_X_y=return_X_y,
        data=table[:, :2] - 1,
        target=table[:, 2].astype(float),
        timestamps=table[:, 3],
        users=to_columns(users, ["id", "age", "gender", "occupation", "zip"], {"id", "age"}),
        films=to_columns([row[:5] for row in films], film_names, {"id"}),
        genres=np.array([row[5:] for row in films], dtype=int),
        genre_names=[line.split("|")[0] for line in files["u.genre"].split("\n") if line.strip()],
        DESCR="MovieLens 100k, GroupLens, F. M. Harper and J. A. Konstan 2015.",
    )


def fetch_netflix_ratings(version: str = "full", *, return_X_y: bool = False) -> LoadedData:
    """Netflix-like ratings of the course 6.86x: a matrix with missing values, and the complete one.

    Parameters
    ----------
    version : {"full", "small"}
        1200 users and 1200 films, or 20 and 5 for trials.
    return_X_y : bool
        Return only ``(data, target)``.

    Returns
    -------
    Bunch
        ``data`` (users, films) ratings from 1 to 5, NaN where there is none; ``target`` the same
        matrix filled in.

    Notes
    -----
    The full gold matrix has 2,429 missing values of its own, NaN too. The course takes them as
    ratings of 0: compare with its RMSE after ``np.nan_to_num(target)``.

    Examples
    --------
    >>> incomplete, gold = fetch_netflix_ratings(return_X_y=True)  # doctest: +SKIP
    """
    shape = _NETFLIX_SHAPES[check_choice("version", version, _NETFLIX_SHAPES)]
    data, target = (
        _read_matrix(f"netflix-{version}-{k}", shape) for k in ("incomplete", "complete")
    )
    return make_bunch(
        return_X_y=return_X_y,
        data=np.where(data == 0, np.nan, data),
        target=np.where(target == 0, np.nan, target),
        DESCR="Ratings of 6.86x, project 4: the file's 0 (no rating) is NaN here.",
    )


def fetch_netflix_toy() -> Bunch:
    """250 points of the plane for clustering, from the course 6.86x.

    Returns
    -------
    Bunch
        ``data`` (250, 2).

    Examples
    --------
    >>> fetch_netflix_toy().data.shape  # doctest: +SKIP
    (250, 2)
    """
    return Bunch(data=_read_matrix("netflix-toy", (250, 2)), DESCR="Toy data of 6.86x, project 4.")


def _read_matrix(name: str, shape: tuple[int, int]) -> np.ndarray:
    path = find_file(name)
    matrix = parse_numbers(path, decode_text(path, read_bytes(path)), None)
    check_figure(path, "(rows, columns)", matrix.shape, shape)
    return matrix
