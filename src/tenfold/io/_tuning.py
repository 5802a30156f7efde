"""Tuning constants of the readers: sizes that trade memory for speed, and change no result.

No sweep of them is recorded; the cases of `benchmarks` named here show their effect.
"""

# Numeric files (benchmarks/bigfiles.py and memory.py: peak memory and MB/s of a pass)
MIN_RUN_CHUNKS = 8  # chunks of a run at least: two runs may both decode the piece between them
READING_BYTES = 2**27  # bytes that all readers of Parquet files together may buffer
DECODED_BYTES = 2**22  # bytes of X that are decoded at once
MAX_COLUMN_BYTES = 5 * 2**19  # bytes of a page and a dictionary of usual size, both decompressed
NUMERIC_BLOCK_BYTES = 2**20  # bytes of CSV text that are converted to float64 at once
MAX_CHUNK_SEQUENCES = 8192  # sequences in a chunk

# Tables of mixed columns (benchmarks/tables.py and encoding.py)
STRING_BLOCK_BYTES = 2**21  # bytes of CSV text that are converted to strings at once
TABLE_BATCH_ROWS = 8192  # rows of Parquet, Arrow, JSON and Excel files that are converted at once
PROBED_VALUES = 64  # values of a batch that rule out most types before all are parsed
MAX_MEMORY_BYTES = 2**26  # bytes of columns in memory; larger tables go to a temporary file
STORED_BATCH_BYTES = 2**20  # bytes of a batch in that file
CACHED_BATCHES = 4  # batches of that file that stay decoded

# Columns of text
DOCUMENT_BATCH_ROWS = 1024  # documents of Parquet and Arrow files that are decoded at once
DOCUMENT_BLOCK_BYTES = 2**24  # bytes of CSV text that are converted at once; a document must fit
