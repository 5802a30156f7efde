"""Tuning constants of the networks: they trade speed, or memory for speed.

Sizes of parts decide the order of sums, so other values give other bits. The cases are those of
benchmarks/networks.py that exercise a constant; no sweep over values is recorded.
"""

# Rows of the parts of a minibatch (`_minibatch`): of sequences ("LSTM 28 x 28"), of images ("CNN
# 32-64-128") and large dense networks, of small dense networks. Large parts make large matrix
# products, small ones occupy more threads.
SMALL_PART_ROWS, MEDIUM_PART_ROWS, LARGE_PART_ROWS = 32, 64, 128
# Symbols of a part of windows that attention takes as a whole ("transformer-4x128").
MIN_PART_SYMBOLS = 1024
# Weights of a dense network from which half a batch pays for a thread ("MLP 784-512-10").
MIN_SHARED_WEIGHTS = 200_000
# Seconds of work in a batch that pay for waking helper threads ("CNN 32-64-128", "LSTM 28 x 28").
MIN_PARALLEL_SECONDS = 400e-6

# Compiled training of dense networks (`_fused_mlp`; "MLP 784-128-10").
FUSED_PART_ROWS = 64  # rows of a part, unless a batch would have more parts than
FUSED_MAX_PARTS = 8
MIN_PARALLEL_WORK = 3_000_000  # rows times parameters, about 0.5 ms, that pay for helper threads
MAX_GATHERED_VALUES = 2**24  # values of the rows that one compiled call gathers (64 MB in float32)

INFERENCE_BATCH_ROWS = 128  # rows of a forward pass, so that activations stay in the cache
CONV_CACHE_VALUES = 65536  # patches and scores in work, 256 kB in float32 ("CNN 32-64-128")
MIN_POOLED_BYTES = 2**15  # bytes; smaller arrays are cheap to allocate ("CNN 32-64-128")

# Parameters up to which "auto" keeps the whole curvature (`_laplace_curvature`): 32 MB, and some
# seconds for its eigenvalues.
MAX_FULL_CURVATURE = 2000
# Draws of the parameters for each evaluation of the evidence lower bound (`_mean_field`).
BOUND_DRAWS = 16
