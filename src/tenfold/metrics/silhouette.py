"""The silhouette score of a clustering, on a sample of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.io.opener import open as open_rows

_SAMPLE_ROWS = 2000  # rows: all pairs of them are compared


def silhouette_score(X: Any, labels: Any, *, sample: int = _SAMPLE_ROWS, seed: int = 0) -> float:
    """Mean silhouette of rows drawn from the data: 1 for groups far apart, below 0 for wrong ones.

    All pairs of drawn rows are compared, so the whole of large data cannot be: the sample is.

    Parameters
    ----------
    X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
        The rows.
    labels : (n,) array, column name, or fitted model
        The group of each row; a model says those of the drawn rows by `predict`. Rows that are
        open already and have a target take a model alone.
    sample : int
        Rows to draw; all of them if there are no more.
    seed : int
        The same seed draws the same rows of the same data, wherever they lie.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [10.0], [11.0]])
    >>> round(silhouette_score(X, np.array([0, 0, 1, 1])), 3)
    0.9
    """
    from sklearn.metrics import silhouette_score

    asks = hasattr(labels, "predict")
    if isinstance(labels, list):
        labels = np.asarray(labels)
    drawn = open_rows(X, target=None if asks else labels).sample(sample, seed)
    groups = labels.predict(drawn.X) if asks else drawn.y
    found = len(np.unique(groups))
    if not 1 < found < drawn.rows:
        raise ValueError(
            f"{drawn.rows} drawn rows lie in {found} groups: a silhouette needs at least two, and "
            "fewer than rows. Draw more rows: sample="
        )
    return float(silhouette_score(drawn.X, groups))
