"""Product reviews of 6.86x: good or bad, from the words."""

import numpy as np

from tenfold.datasets.arguments import check_choice
from tenfold.datasets.bundle import Loaded, bundle
from tenfold.datasets.cache import expect, find, read
from tenfold.datasets.parsing import columns, decoded, numbers, records

SIZES = {"train": 4000, "val": 500, "test": 500, "submit": 500}
NAMES = ["sentiment", "productId", "userId", "summary", "text", "helpfulY", "helpfulN"]


def fetch_reviews(*, subset: str = "train", return_X_y: bool = False) -> Loaded:
    """Amazon product reviews of 6.86x, good (+1) or bad (-1) [003, project 1].

    Parameters
    ----------
    subset : {"train", "val", "test", "submit"}
        4,000 reviews, or one of three sets of 500; the last has no labels.
    return_X_y : bool
        Return only ``(data, target)``.

    Returns
    -------
    Bunch
        ``data`` list of str; ``target`` (n,) of -1 and +1, None for "submit"; ``columns`` the
        other columns: product, user, summary, votes; ``stop_words``; ``order`` the fixed order in
        which the course visits the training reviews.

    Examples
    --------
    >>> reviews = fetch_reviews()  # doctest: +SKIP
    >>> [int((reviews.target == label).sum()) for label in (-1, 1)]  # doctest: +SKIP
    [2030, 1970]
    """
    path = find(f"reviews-{check_choice('subset', subset, SIZES)}")
    rows = records(path, decoded(path, read(path), "latin-1"), "\t", len(NAMES), quoted=True)
    expect(path, "rows", len(rows), SIZES[subset] + 1)
    expect(path, "as header", rows.pop(0), NAMES)
    table = columns(rows, NAMES, {"sentiment", "helpfulY", "helpfulN"})
    sentiment = table.pop("sentiment")
    return bundle(
        return_X_y=return_X_y,
        data=table.pop("text").tolist(),
        target=None if subset == "submit" else sentiment.astype(int),
        columns=table,
        stop_words=decoded(find("reviews-stopwords"), read(find("reviews-stopwords"))).split(),
        order=_order("reviews-order", SIZES["train"]),
        DESCR="Product reviews of 6.86x, project 1: 5,500 reviews of food sold by Amazon.",
    )


def fetch_reviews_toy(*, return_X_y: bool = False) -> Loaded:
    """200 points of the plane in two classes, on which 6.86x tries perceptrons [003, project 1].

    Parameters
    ----------
    return_X_y : bool
        Return only ``(data, target)``.

    Returns
    -------
    Bunch
        ``data`` (200, 2), ``target`` of -1 and +1, ``order`` the course's order of visits.

    Examples
    --------
    >>> fetch_reviews_toy().data.shape  # doctest: +SKIP
    (200, 2)
    """
    path = find("reviews-toy")
    table = numbers(path, decoded(path, read(path)), None)
    expect(path, "(rows, columns)", table.shape, (200, 3))
    return bundle(
        return_X_y=return_X_y,
        data=table[:, 1:].copy(),
        target=table[:, 0].astype(int),
        order=_order("reviews-toy-order", 200),
        DESCR="Toy data of 6.86x, project 1.",
    )


def _order(name: str, n: int) -> np.ndarray:
    path = find(name)
    order = numbers(path, decoded(path, read(path)))[0].astype(int)
    expect(
        path,
        "as lowest, highest and number of places",
        (order.min(), order.max(), order.size),
        (0, n - 1, n),
    )
    return order
