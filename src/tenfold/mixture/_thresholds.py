"""Thresholds that trade speed or memory, not accuracy.

`benchmarks/mixtures.py` measures them; a value that was not swept says so.
"""

# Features from which "full" components are evaluated one after the other: the products of all
# pairs of columns then cost more than one matrix product saves. Chosen on "full, 20 rounds"
# of benchmarks/mixtures.py; not swept.
MAX_PACKED_COLUMNS = 40
# Columns up to which rows are shifted and squared column by column. At 8,192 x 2 that takes a
# tenth of the time; the two ways meet at about 16 columns.
MAX_SINGLE_COLUMNS = 16
# Array entries of a block of rows in the E-step (8 bytes each): a block fits a core's second-level
# cache. Chosen on the case "full, 20 rounds" of benchmarks/mixtures.py; not swept.
BLOCK_ENTRIES = 2**17
MIN_BLOCK_ROWS = 256  # rows of a block, however wide: fewer are dominated by the calls
# Log of the smallest responsibility that is kept: subnormal numbers slow down every product.
MIN_LOG_RESPONSIBILITY = -600.0

# Initialization sees a sample: EM continues from it on all rows. Not swept.
INIT_ROWS = 3_000  # rows of the sample, ...
INIT_ROWS_PER_COMPONENT = 150  # ... or this many for each component
INIT_ENTRIES = 2**25  # array entries of the sample at most: sparse rows become dense
PLUSPLUS_ROWS = 500  # rows of it that k-means++ draws from, ...
PLUSPLUS_ROWS_PER_COMPONENT = 20  # ... or this many for each component
KMEANS_RESTARTS = 5  # runs of k-means on the sample; the best is kept
KMEANS_ITERATIONS = 30  # of each run
