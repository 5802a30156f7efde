"""Atomic file writes: a file appears under its name complete and on the disk, or not at all."""

from __future__ import annotations

import os
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from glob import escape
from pathlib import Path

_ABANDONED_SECONDS = 24 * 3600.0  # age of temporary files that no running program writes


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path in the folder of `path`; what was written there gets the name at the end.

    The file is flushed to the disk (fsync) and renamed, which replaces an older file in one step
    and keeps its permissions; a new file has those of the process (umask). Through a symbolic link
    the file that it names is replaced. If the block raises, the temporary file is removed and an
    older file stays as it was. Temporary files of programs that were killed a day ago or before
    are removed by the next write to the same name.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_path(Path(folder, "x.txt")) as temporary:
    ...         _ = temporary.write_text("all of it")
    ...     [(file.name, file.read_text()) for file in Path(folder).iterdir()]
    [('x.txt', 'all of it')]
    """
    path = Path(path)
    path = path.resolve() if path.is_symlink() else path
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        mode = _create_like(temporary, path)
        yield temporary
        _flush_to_disk(temporary, mode)
        os.replace(temporary, path)
        remove_temporary_files(path, _ABANDONED_SECONDS)
    finally:
        temporary.unlink(missing_ok=True)


def write_atomic(path: str | os.PathLike[str], content: bytes | str) -> None:
    """Write a whole file atomically; text as UTF-8."""
    with atomic_path(path) as temporary:
        temporary.write_bytes(content.encode() if isinstance(content, str) else content)


def remove_temporary_files(path: Path, age: float = 0.0) -> None:
    """Remove temporary files of `path` that were last written so many seconds ago or before."""
    for part in path.parent.glob(f".{escape(path.name)}.{'[0-9a-f]' * 16}.tmp"):
        try:
            if time.time() - part.stat().st_mtime >= age:
                part.unlink()
        except OSError:  # somebody else's, or gone
            continue


def _create_like(temporary: Path, path: Path) -> int:
    """Create the file; the permissions that it shall have: those of the file in its place."""
    try:
        with temporary.open("xb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
    except OSError as problem:
        problem.filename = str(path)  # the name that the caller knows
        raise
    return stat.S_IMODE(path.stat().st_mode) if path.is_file() else mode


def _flush_to_disk(path: Path, mode: int) -> None:
    with path.open("rb+") as file:
        if stat.S_IMODE(os.fstat(file.fileno()).st_mode) != mode:
            path.chmod(mode)
        os.fsync(file.fileno())
