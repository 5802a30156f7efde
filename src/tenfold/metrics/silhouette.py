"""The silhouette score of a clustering, on a sample of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.io.opener import open as open_rows

_SAMPLE_ROWS = 2000  # rows; all pairs are compared


def silhouette_score(X: Any, labels: Any, *, sample: int = _SAMPLE_ROWS, seed: int = 0) -> float:
    """Mean silhouette of a sample of rows: near 1 for separated clusters, below 0 for wrong ones.

    All pairs of sampled rows are compared, so the cost is quadratic in `sample`.

    Parameters
    ----------
    X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
        The rows.
    labels : (n,) array, column name, or fitted model
        The cluster of each row; a model predicts those of the sampled rows. Rows that are already
        open and have a target need a model.
    sample : int
        Number of rows to draw; all if there are fewer.
    seed : int
        The same seed draws the same rows of the same data, from any source.

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

    is_model = hasattr(labels, "predict")
    if isinstance(labels, list):
        labels = np.asarray(labels)
    drawn = open_rows(X, target=None if is_model else labels).sample(sample, seed)
    clusters = labels.predict(drawn.X) if is_model else drawn.y
    n_clusters = len(np.unique(clusters))
    if not 1 < n_clusters < drawn.rows:
        raise ValueError(
            f"{drawn.rows} drawn rows lie in {n_clusters} clusters: a silhouette needs at "
            "least two, and fewer than rows. Draw more rows: sample="
        )
    return float(silhouette_score(drawn.X, clusters))
