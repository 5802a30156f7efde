"""Who walks over the rows: arrays, tables, files, sequences, a cluster."""

from tenfold.rows.chunk import Chunk, chunk_rows
from tenfold.rows.cluster import on
from tenfold.rows.opening import open
from tenfold.rows.ragged import Ragged
from tenfold.rows.randomness import normals, uniforms
from tenfold.rows.rows import Rows
from tenfold.rows.threads import n_threads, threads
from tenfold.rows.tree import merge
from tenfold.rows.watching.checkpoint import checkpoint
from tenfold.rows.watching.progress import progress

__all__ = [
    "Chunk",
    "Ragged",
    "Rows",
    "checkpoint",
    "chunk_rows",
    "merge",
    "n_threads",
    "normals",
    "on",
    "open",
    "progress",
    "threads",
    "uniforms",
]
