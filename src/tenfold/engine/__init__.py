"""The engine: a fold applies a pure function to every chunk of rows and merges the statistics.

`rows` is what models see, `fold` schedules chunks on threads, `merge_tree` fixes the order of
merging, so that results have the same bits on any number of threads and from any storage.
"""

from tenfold._lazy import attach, modules_of_names

# What each module offers. No name here is also that of a module: importing it would hide the name.
_OFFERS = {
    "chunk": (
        "Chunk",
        "chunk_rows",
    ),
    "merge_tree": ("merge",),
    "row_random": (
        "normals",
        "uniforms",
    ),
    "rows": ("Rows",),
    "thread_pool": (
        "n_threads",
        "threads",
    ),
}
_WHERE = modules_of_names(__name__, _OFFERS)

__all__ = sorted(_WHERE)  # noqa: PLE0605
__getattr__, __dir__ = attach(__name__, _WHERE)
