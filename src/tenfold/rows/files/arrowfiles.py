"""Files made of Arrow pieces (row groups, record batches), opened as one stream of rows.

Pieces have any size and do not lie on the grid. A run is read by one reader that starts in the
piece which holds the run's first row, and reads on into the next piece, or file, until the last
chunk of the run is complete. So the grid goes on over all edges, and readers need not meet.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tenfold.rows.arrays import part
from tenfold.rows.chunk import Chunk, spans
from tenfold.rows.files.asked import Asked, as_weights
from tenfold.rows.files.columns import Columns
from tenfold.rows.source import Source, joined
from tenfold.rows.threads import n_threads

RUN_CHUNKS = 8  # at least so many in a run: what two runs both decode stays small beside it
READING_BYTES = 2**27  # that all readers together may hold
BATCH_BYTES = 2**22  # decoded at once


class Head(NamedTuple):
    """What a file says about itself."""

    schema: Any
    rows: list[int]  # in each piece
    held: dict[str, int]  # bytes that a reader of the file keeps for each column


class ArrowFiles(Source):
    """One or several files with the same columns.

    Parameters
    ----------
    paths : list of Path
        The files, in the order of their rows.
    asked : Asked
        Which columns are the target, the weights and X.
    """

    shippable = True

    def __init__(self, paths: list[Path], asked: Asked) -> None:
        self.shown = [str(path) for path in paths]
        self.paths = [str(path.absolute()) for path in paths]
        heads = [self._head(*paths) for paths in zip(self.paths, self.shown, strict=True)]
        self.columns = Columns(_names(heads[0].schema), asked, self.shown[0])
        self.columns.settle(self.shown, [head.schema for head in heads])
        self.dtype, self.names = self.columns.dtype, self.columns.X
        self.n_features = len(self.names)
        self.edges = [np.cumsum([0, *head.rows]) for head in heads]  # of pieces, file by file
        self.starts = np.cumsum([0, *(edges[-1] for edges in self.edges)])  # of files
        self.n_rows = int(self.starts[-1])
        self.y, self.w = asked.outside(heads[0].schema.names, self.n_rows)
        self.has_target = bool(self.columns.y) or self.y is not None
        self.has_weight = self.columns.w is not None or self.w is not None
        self.held = {
            name: max(head.held.get(name, 0) for head in heads) for name in self.columns.needed
        }

    @abstractmethod
    def inspect(self, path: str) -> Head:
        """Read the head of a file."""

    @abstractmethod
    def decode(self, path: str, pieces: range, size: int) -> Iterator[Any]:
        """Record batches of at most `size` rows, with the needed columns, of these pieces."""

    def _head(self, path: str, shown: str) -> Head:
        import pyarrow as pa

        try:
            return self.inspect(path)
        except (pa.ArrowException, OSError) as problem:
            raise ValueError(
                f"{shown} cannot be read; it is cut short, damaged or of another kind: {problem}"
            ) from problem

    def runs(self) -> Iterator[range]:
        """A few long runs for each thread, fewer if their readers would fill the memory."""
        total = len(spans(self.n_rows, self.grid))
        fitting = max(READING_BYTES // max(sum(self.held.values()), 1), 1)
        least = max(RUN_CHUNKS, -(-total // min(2 * n_threads(), fitting)))
        cuts, start = self.cuts(), 0
        while start < total:
            end = int(cuts[np.searchsorted(cuts, min(start + least, total))])
            yield range(start, end)
            start = end

    def cuts(self) -> np.ndarray:
        """Chunks at which a run may begin: the first to begin in a piece. The last is the end."""
        files = zip(self.edges, self.starts[:-1], strict=True)
        edges = np.concatenate([edges + start for edges, start in files])
        return np.unique(-(-edges // self.grid))

    def chunks(self, run: range) -> Iterator[Chunk]:
        """Read the chunks of a run, with target and weights that come from elsewhere."""
        first, end = run.start * self.grid, min(run.stop * self.grid, self.n_rows)
        for chunk in on_grid(self._parts(first, end), first, self.grid):
            begin, after = chunk.first, chunk.first + chunk.rows
            y = chunk.y if self.y is None else part(self.y, begin, after)
            w = chunk.w if self.w is None else as_weights(part(self.w, begin, after))
            yield chunk._replace(y=y, w=w)

    def where(self, row: int) -> str:
        """The file and the row in it, counted from 0."""
        file = self._file(row)
        return f"{self.shown[file]}, row {row - int(self.starts[file])}"

    def _file(self, row: int) -> int:
        return int(np.searchsorted(self.starts, row, "right")) - 1

    def _parts(self, first: int, end: int) -> Iterator[Chunk]:
        """Rows first:end, cut as they come."""
        import pyarrow as pa

        while first < end:
            file = self._file(first)
            start, stop = int(self.starts[file]), min(int(self.starts[file + 1]), end)
            try:
                for batch in self._batches(file, first - start, stop - start):
                    yield self.columns.chunk(batch, first, self.where)
                    first += batch.num_rows
            except (pa.ArrowException, OSError) as problem:
                raise self._damaged(file, first - start, problem) from problem
            if first < stop:
                raise self._damaged(file, first - start, "there are fewer rows than it says")

    def _batches(self, file: int, first: int, end: int) -> Iterator[Any]:
        """Record batches with exactly the rows first:end of a file."""
        path, edges = self.paths[file], self.edges[file]
        begin = int(np.searchsorted(edges, first, "right")) - 1
        stop = int(np.searchsorted(edges, end))
        whole = stop if edges[stop] == end else stop - 1
        size = self._batch_rows()
        parts = [self.decode(path, range(begin, whole), size)] if begin < whole else []
        if whole < stop:  # of the last piece, decode no more than is needed
            need = min(size, end - int(edges[whole]))
            parts.append(self.decode(path, range(whole, stop), need))
        return trimmed(chain.from_iterable(parts), first - int(edges[begin]), end - first)

    def _batch_rows(self) -> int:
        chunks = BATCH_BYTES // (self.grid * self.n_features * self.dtype.itemsize)
        return self.grid * min(max(chunks, 2), 4)

    def _damaged(self, file: int, row: int, problem: Any) -> ValueError:
        edges = self.edges[file]
        begin = int(np.searchsorted(edges, row, "right")) - 1
        stop = int(np.searchsorted(edges[:-1], row + self._batch_rows()))
        culprits = (self.culprit(self.paths[file], piece) for piece in range(begin, stop))
        at = next((culprit for culprit in culprits if culprit), f"after row {row}")
        return ValueError(
            f"{self.shown[file]}, {at}: the file is damaged, write it again ({problem})"
        )

    def culprit(self, path: str, piece: int) -> str:
        """The place of the damage in a piece in words, or nothing if the piece is fine."""
        return ""


def _names(schema: Any) -> list[str]:
    """The columns, without the index that pandas may have written beside them."""
    index = (schema.pandas_metadata or {}).get("index_columns", [])
    return [name for name in schema.names if name not in index]


def trimmed(batches: Iterable[Any], skip: int, rows: int) -> Iterator[Any]:
    """Record batches without the first `skip` rows, and no more than `rows` of the rest."""
    for batch in batches:
        piece = batch.slice(skip, rows) if skip < batch.num_rows else None
        skip = max(skip - batch.num_rows, 0)
        if piece is not None and piece.num_rows:
            rows -= piece.num_rows
            yield piece
        if rows == 0:
            return


def on_grid(parts: Iterable[Chunk], first: int, grid: int) -> Iterator[Chunk]:
    """Rows that come in parts of any size, cut at multiples of `grid`."""
    held: list[Chunk] = []
    missing = grid
    for rows in parts:
        at = 0
        while at < rows.rows:
            held.append(_between(rows, at, at + missing))
            at, missing = at + held[-1].rows, missing - held[-1].rows
            if missing == 0:
                yield joined(held)._replace(first=first)
                first, held, missing = first + grid, [], grid
    if held:
        yield joined(held)._replace(first=first)


def _between(chunk: Chunk, low: int, high: int) -> Chunk:
    X, y, w = (None if a is None else a[low:high] for a in chunk[:3])
    return Chunk(X, y, w)
