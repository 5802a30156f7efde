"""Rows on disk and in tables: `.npy`, Parquet, Arrow IPC, CSV, JSON lines, Excel, data frames.

To add a format: its suffix in `file_formats`, a reader in `table_opener.read_table` (mixed columns)
or `opener` (a numeric matrix), and, to write it, an entry in `writer`.
"""

from tenfold._lazy import attach, modules_of_names

# What each module offers. No name here is also that of a module: importing it would hide the name.
_OFFERS = {
    "columnar": (
        "Column",
        "ColumnBatch",
        "DateColumn",
        "NumericColumn",
        "TableError",
        "TextColumn",
    ),
    "opener": ("open",),
    "sequences": ("Ragged",),
    "table": (
        "TableSource",
        "is_external_table",
    ),
    "table_opener": ("open_table",),
}
_WHERE = modules_of_names(__name__, _OFFERS)

__all__ = sorted(_WHERE)  # noqa: PLE0605
__getattr__, __dir__ = attach(__name__, _WHERE)
