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

# Rows of the samples on which the centers of k-means++ are refined before all rows are used, and
# the bytes that a sample may take. Chosen on the KMeans cases of benchmarks/speed.py; not swept.
INIT_SAMPLE_SIZES = (20_000, 80_000)
MAX_SAMPLE_BYTES = 2**27

# Assignment of rows to centers; chosen on the KMeans cases of benchmarks/speed.py, not swept.
DIRECT_SEARCH_SIZE = 2**16  # rows times entries of all centers up to which differences are faster
SCORES_PER_BLOCK = 2**16  # products of rows and centers in a block of the double-precision search
MIN_SIZE_FOR_BOUNDS = 512  # entries of all centers from which bounds cost less than a new search
MAX_REASSIGNED_SHARE = 0.6  # share of undecided rows from which on all rows are searched
ITERATIONS_WITHOUT_BOUNDS = 3  # iterations until bounds are tried again, then
