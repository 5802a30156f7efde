"""From a file, folder, glob pattern or list to files of one format."""

from __future__ import annotations

import os
from collections.abc import Iterable
from difflib import get_close_matches
from glob import glob, has_magic
from pathlib import Path
from typing import Any

from tenfold.engine.validation import format_names

_FORMAT_BY_SUFFIX = {
    ".npy": "npy",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "ipc",
    ".feather": "ipc",
    ".ipc": "ipc",
    ".csv": "csv",
    ".tsv": "csv",
}
_COMPRESSED_SUFFIXES = {".gz", ".bz2"}  # text alone: the others pack their parts themselves


def resolve_files(where: Any) -> tuple[str, list[Path]]:
    """The kind of the files that are meant, and their paths in order."""
    if isinstance(where, str | os.PathLike):
        paths = expand_path(os.fspath(where))
    else:
        paths = [path for one in where for path in expand_path(os.fspath(one))]
    kinds = {path: _file_format(path) for path in paths}
    if len(set(kinds.values())) > 1:
        examples = {kind: path.name for path, kind in reversed(kinds.items())}
        raise ValueError(
            f"{where} holds files of several kinds ({format_names(list(examples.values()), 4)}). "
            "Name those that belong together by a pattern, such as 'folder/*.parquet'."
        )
    return kinds[paths[0]], paths


def expand_path(where: str) -> list[Path]:
    """The files that a path, a folder or a pattern means, in order."""
    path = Path(where).expanduser()
    if path.is_dir():
        return _list_folder(path)
    if path.exists():
        return [path]
    if has_magic(where):
        found = [Path(one) for one in sorted(glob(str(path), recursive=True))]  # noqa: PTH207 - also absolute
        found = [one for one in _without_hidden(found) if one.is_file()]
        if found:
            return found
        raise FileNotFoundError(f"no file matches {where!r}")
    raise FileNotFoundError(f"{where} does not exist.{_hint(path)}")


def _list_folder(folder: Path) -> list[Path]:
    inside = _without_hidden(sorted(folder.iterdir()))
    found = [path for path in inside if path.is_file()]
    if not found:
        deeper = f" Files in folders below it: '{folder}/**/*.parquet'." if inside else ""
        raise FileNotFoundError(f"the folder {folder} holds no data files.{deeper}")
    return found


def _without_hidden(paths: Iterable[Path]) -> list[Path]:
    """Without what programs leave beside data: names that start with a dot or an underscore."""
    return [path for path in paths if not path.name.startswith((".", "_"))]


def _hint(path: Path) -> str:
    if not path.parent.is_dir():
        return f" There is no folder {path.parent}."
    close = get_close_matches(path.name, [other.name for other in path.parent.iterdir()], 3)
    return (
        f" Did you mean {format_names([str(path.with_name(name)) for name in close])}?"
        if close
        else ""
    )


def _file_format(path: Path) -> str:
    ends = [end.lower() for end in path.suffixes[-2:]]
    end = ends[-1] if ends else ""
    if end in _COMPRESSED_SUFFIXES and len(ends) == 2 and _FORMAT_BY_SUFFIX.get(ends[0]) == "csv":
        return "csv"
    if end not in _FORMAT_BY_SUFFIX:
        raise ValueError(
            f"{path} is of no known kind; these are: {', '.join(_FORMAT_BY_SUFFIX)}, .csv.gz"
        )
    return _FORMAT_BY_SUFFIX[end]
