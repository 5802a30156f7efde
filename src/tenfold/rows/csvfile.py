"""Rows in CSV files: read once, into a raw file, when the first row is needed.

Reading text takes some twenty times as long as a pass of k-means over the numbers in it. The types
of the columns are those of the first MiB; a word further down is an error with its line.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tenfold.rows.asked import Asked
from tenfold.rows.arrow import is_number as holds_numbers
from tenfold.rows.chunk import Chunk
from tenfold.rows.columns import Columns
from tenfold.rows.csvlines import Dialect, dialect, fault, is_number, line_of
from tenfold.rows.rawfile import RawFile, Spool
from tenfold.rows.source import Source
from tenfold.rows.stored import Stored

BLOCK = 2**20  # bytes of text converted at once


class CsvFiles(Source):
    """One or several CSV files with the same columns, a line of names first."""

    def __init__(self, paths: list[Path], asked: Asked) -> None:
        self.files = [dialect(str(path)) for path in paths]
        self.asked = asked
        self.columns = Columns(self.files[0].names, asked, self.files[0].path)
        schemas = [_sniffed(file) for file in self.files]
        ...
