"""Thresholds of neighbor searches that trade speed or memory, never results.

`benchmarks/neighbors.py` measures them; a value that was not swept says so.
"""

# Queries and rows of a tile of products: the best of 256-2048 by 512-4096 for 20 to 784 columns.
QUERIES_PER_TILE = 1024
ROWS_PER_TILE = 512
# Columns up to which products are compared where they arise (a tile of rows is transposed for them,
# and has to stay in the cache), and rows between two looks at signals. Not swept.
MAX_FUSED_COLUMNS = 2048
FUSED_ROWS = 8192
# Candidates of a query that wait for their proof, beyond 2 k. Not swept.
SPARE_CANDIDATES = 64
# Memory of the candidates of a block of queries. Not swept.
CANDIDATE_BYTES = 2**24
# Numbers in a block of rows that are centered, or of distances, at once. Not swept.
BLOCK_NUMBERS = 2**20
# Rows of a leaf of a kd-tree; from so many rows on it is built by threads, in so many subtrees.
LEAF_ROWS = 32
PARALLEL_BUILD_ROWS = 20_000
SUBTREES = 16
# Rows from which on a metric that is a function is compiled, which takes half a second. Not swept.
MIN_ROWS_TO_COMPILE = 2000
# Share of the free memory that rows of a file may take; else they stay there. Not swept.
MAX_MEMORY_SHARE = 0.25
# Queries of a chunk: a quarter of the share of a thread, or a tile, within these. Not swept.
MIN_QUERIES_PER_CHUNK = 64
MAX_QUERIES_PER_CHUNK = 65536
# Neighbors of a block of queries that are held at once, beyond the result. Not swept.
NEIGHBORS_PER_BLOCK = 2**22
# Share of the free memory that lists of neighbors may fill. Not swept.
MAX_LISTS_SHARE = 0.75
# Neighbors beyond 2 k that the imputer looks for at once, for all columns of a row. Not swept.
SPARE_DONORS = 16
