"""From a file, folder, glob pattern or list to files of one format.

To add a format: its suffix below, and where it is read. Files of numbers are opened in `opener.py`
(a `Source`), tables of mixed columns in `table_opener.py` (batches of columns); formats that Arrow
reads have their schema and batches in `ARROW_READERS` of `parquet.py`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from glob import glob, has_magic
from pathlib import Path
from typing import Any

from tenfold.engine.validation import format_names

# Every format by the end of a file's name; the readers say which of them they take.
_FORMAT_BY_SUFFIX = {
    ".npy": "npy",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "ipc",
    ".feather": "ipc",
    ".ipc": "ipc",
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".data": "csv",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
    ".xlsx": "excel",
    ".xlsm": "excel",
}
_COMPRESSED_SUFFIXES = {".gz", ".bz2"}  # of text; the other formats compress their parts themselves
_FORMAT_BY_MAGIC = {b"PAR1": "parquet", b"ARRO": "ipc", b"PK\x03\x04": "excel"}
NUMERIC_SUFFIXES = (".npy", ".parquet", ".pq", ".arrow", ".feather", ".ipc", ".csv", ".tsv")


def resolve_files(
    where: Any, format_of: Callable[[Path], str] | None = None
) -> tuple[str, list[Path]]:
    """The format of the files that are meant, and their paths in order.

    Parameters
    ----------
    where : path, folder, pattern or list of them
        The files.
    format_of : callable, optional
        The format of a file; `numeric_format` by default.
    """
    if isinstance(where, str | os.PathLike):
        paths = expand_path(os.fspath(where))
    else:
        paths = [path for one in where for path in expand_path(os.fspath(one))]
    formats = {path: (format_of or numeric_format)(path) for path in paths}
    if len(set(formats.values())) > 1:
        examples = {kind: path.name for path, kind in reversed(formats.items())}
        raise ValueError(
            f"{where} holds files of several kinds ({format_names(list(examples.values()), 4)}). "
            "Name those that belong together by a pattern, such as 'folder/*.parquet'."
        )
    return formats[paths[0]], paths


def expand_path(where: str) -> list[Path]:
    """The files that a path, a folder or a pattern means, in order."""
    path = Path(where).expanduser()
    if path.is_dir():
        return _list_folder(path)
    if path.exists():
        return [path]
    if has_magic(where):
        matches = [Path(one) for one in sorted(glob(str(path), recursive=True))]  # noqa: PTH207 - also absolute
        matches = [one for one in _without_hidden(matches) if one.is_file()]
        if matches:
            return matches
        raise FileNotFoundError(f"no file matches {where!r}")
    raise FileNotFoundError(f"{where} does not exist.{_hint(path)}")


def _list_folder(folder: Path) -> list[Path]:
    inside = _without_hidden(sorted(folder.iterdir()))
    files = [path for path in inside if path.is_file()]
    if not files:
        deeper = f" Files in folders below it: '{folder}/**/*.parquet'." if inside else ""
        raise FileNotFoundError(f"the folder {folder} holds no data files.{deeper}")
    return files


def _without_hidden(paths: Iterable[Path]) -> list[Path]:
    """Without what programs leave beside data: names that start with a dot or an underscore."""
    return [path for path in paths if not path.name.startswith((".", "_"))]


def _hint(path: Path) -> str:
    if not path.parent.is_dir():
        return f" There is no folder {path.parent}."
    close = get_close_matches(path.name, [other.name for other in path.parent.iterdir()], 3)
    if close:
        return f" Did you mean {format_names([str(path.with_name(name)) for name in close])}?"
    return "" if path.suffix else " If it is a text, WordCounts or TfIdf makes a row of it."


def numeric_format(path: Path) -> str:
    """The format of a file of numbers, by the end of its name."""
    suffix, compressed = _data_suffix(path)
    kind = _FORMAT_BY_SUFFIX.get(suffix) if suffix in NUMERIC_SUFFIXES else None
    if kind is None or (compressed and kind != "csv"):
        raise ValueError(
            f"{path} is of no known kind; these are: {', '.join(NUMERIC_SUFFIXES)}, .csv.gz"
        )
    return kind


def table_format(path: Path) -> str:
    """The format of a table, by the end of its name, else by its first bytes; CSV if unknown."""
    kind = _FORMAT_BY_SUFFIX.get(_data_suffix(path)[0])
    if kind not in {None, "npy"}:
        return str(kind)
    with path.open("rb") as file:
        return _FORMAT_BY_MAGIC.get(file.read(4), "csv")


def _data_suffix(path: Path) -> tuple[str, bool]:
    """The last suffix in front of that of a compression, and whether there is one."""
    suffixes = [suffix.lower() for suffix in path.suffixes[-2:]]
    compressed = len(suffixes) == 2 and suffixes[-1] in _COMPRESSED_SUFFIXES
    return (suffixes[0] if compressed else suffixes[-1] if suffixes else ""), compressed
