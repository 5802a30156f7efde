"""Thresholds of clustering that trade speed or memory, not accuracy.

`benchmarks/clusters.py` and the k-means cases of `benchmarks/speed.py` measure them; a value that
was not swept says so.
"""

# Rows of the sample that initial centers are drawn from; not swept.
INIT_ROWS = 20_000
INIT_ROWS_PER_CLUSTER = 100  # at least this many for each cluster
# Labels of a block in the search for empty clusters: indexing copies them as int64. Not swept.
LABELS_PER_BLOCK = 2**20
# Rows up to which "auto" k-medoids holds all distances in memory (10,000 rows: 800 MB). Not swept.
MAX_ROWS_WITH_ALL_PAIRS = 10_000
