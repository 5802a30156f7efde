"""Tuning constants of the networks: they trade speed, or memory for speed.

Sizes of parts decide the order of sums, so other values give other bits. None of them was swept
systematically; each comment names the case of benchmarks/ on which it was chosen.
"""

# Rows of the parts of a minibatch (`_minibatch`): sequences, images and large dense networks, small
# dense networks. More rows per part make larger matrix products, fewer use more threads.
SMALL_PART_ROWS, MEDIUM_PART_ROWS, LARGE_PART_ROWS = 32, 64, 128
MIN_SHARED_WEIGHTS = 200_000  # weights of a dense network from which half a batch pays for a thread
MIN_PARALLEL_SECONDS = 400e-6  # seconds of work in a batch that pay for waking helper threads

# Compiled training of dense networks (`_fused_mlp`).
FUSED_PART_ROWS, FUSED_MAX_PARTS = 64, 8  # rows of a part; larger batches have larger parts
MIN_PARALLEL_WORK = 3_000_000  # rows times parameters, about half a millisecond, per helper thread
MAX_GATHERED_VALUES = 2**24  # values of the rows that are gathered for one compiled call

INFERENCE_BATCH_ROWS = 128  # rows of a forward pass whose activations fit the cache
CONV_CACHE_VALUES = 65536  # patches and scores in work, 256 kB in float32: they stay in the cache
MIN_POOLED_BYTES = 2**15  # smaller arrays are cheaper to allocate than to look up
