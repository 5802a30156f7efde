"""Thresholds that trade speed, each measured; none changes what a fit converges to."""

FULL_MATRIX_ROWS = 2048  # of a problem: up to here the whole kernel matrix is one working set
WORKING_SET = 1024  # variables that are optimized together, half of them new in each round
FOLD_WORKING_SET = 2048  # the same where kernel values of a round are not kept
GATHER_BYTES = 2**27  # rows of files and clusters that are smaller are gathered in memory
INNER_TOLERANCE = 0.1  # of the violation of a round, at which its working set is solved
SHRINK_INTERVAL = 8  # rounds between two looks for variables that stay at their bounds
STALL_ROUNDS = 10  # rounds without progress after which more digits are taken, or the fit ends
DENSE_BYTES = 2**24  # sparse rows that are smaller as an array are made one
PREPARED_BYTES = 2**26  # of rows that are kept centered and scaled beside the rows
MIN_PARALLEL_ROWS = 500  # of whose pairs of classes several are solved at a time
NARROW_SPREAD = 32.0  # mean squared norm up to which columns of float64 rows are float32 products
MAX_COMPUTED_WIDTH = 64  # columns of rows whose kernel values of a working set are computed anew
