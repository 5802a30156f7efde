"""Who walks over the rows: arrays, tables, files, sequences, a cluster."""

from tenfold.rows.chunk import Chunk, chunk_rows
from tenfold.rows.randomness import normals, uniforms
from tenfold.rows.rows import Rows
from tenfold.rows.threads import n_threads, threads
from tenfold.rows.tree import merge

__all__ = ["Chunk", "Rows", "chunk_rows", "merge", "n_threads", "normals", "threads", "uniforms"]
