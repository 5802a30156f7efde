"""Tables of mixed columns, wherever they lie: numbers, words and dates by the row.

Read in order: `records` (what others see), `places` (from a name to a reader), the readers
(`csv_text`, `json_lines`, `excel`, `typed`, `tables`), `readings` and `understood` (what columns of
text are), `store` (where rows are kept: in memory if they are few, else in a temporary file).
"""

from tenfold.rows.cells import Cells, Column, Dates, Numbers, Words
from tenfold.rows.files.records.errors import TableError
from tenfold.rows.files.records.records import Records, is_elsewhere, open_records

__all__ = [
    "Cells",
    "Column",
    "Dates",
    "Numbers",
    "Records",
    "TableError",
    "Words",
    "is_elsewhere",
    "open_records",
]
