"""Finding, verifying and downloading data files.

A file is looked for below the folder that TENFOLD_DATA names, then below the cache folder
(TENFOLD_CACHE, else XDG_CACHE_HOME/tenfold, else ~/.cache/tenfold). If it is in neither, it is
downloaded into the cache folder under a temporary name, checked, and renamed. A file that fails
its check is reported and left as it is. `files.tsv` lists the files.
`find_file` is the entry point; `read_bytes` and `archive_members` read what it found.
"""

import gzip
import hashlib
import io
import lzma
import os
import re
import tarfile
import urllib.request
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from http.client import HTTPException
from importlib import resources
from pathlib import Path
from typing import IO, NamedTuple

from tenfold.engine.atomic import write_atomic

_TIMEOUT_SECONDS = 60  # without a response
_ARCHIVE_ERRORS = (EOFError, zlib.error, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile)

# Why a file without an address is not downloaded, by the first folder of its path.
_ADVICE = {
    "mit686x": "The course 6.86x (MITx on edX) gives this file to its learners, with no licence",
    "imagenet": "ImageNet is given on request, for research: https://image-net.org/download.php "
    "(ILSVRC2012); unpack it to one folder of JPEG files for each class",
    "penn-treebank": "The Linguistic Data Consortium sells the Penn Treebank: "
    "https://catalog.ldc.upenn.edu/LDC99T42; its .mrg files are in parsed/mrg/wsj",
}


class DataFileError(OSError):
    """A data file is absent, cannot be downloaded, or is not what it should be."""


class FileCopy(NamedTuple):
    """One packing of a file: its path below a data folder, size, checksum and address."""

    path: str
    size: int | None
    sum: str | None  # "sha256:..." or "md5:..."
    url: str | None


@cache
def registry() -> dict[str, list[FileCopy]]:
    """Return all known files: name -> its copies, the preferred one first."""
    files: dict[str, list[FileCopy]] = {}
    table = resources.files("tenfold.datasets").joinpath("files.tsv").read_text("utf-8")
    for line in table.splitlines():
        if not line.startswith("#"):
            name, path, *fields = line.split("\t")
            size, digest, url = (None if field == "-" else field for field in fields)
            copy = FileCopy(path, None if size is None else int(size), digest, url)
            files.setdefault(name, []).append(copy)
    return files


def cache_folder() -> Path:
    """Return the folder that downloads go to."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("TENFOLD_CACHE") or Path(base) / "tenfold").expanduser()


def data_folders() -> list[Path]:
    """Return the folders that are searched, in order."""
    folder_name = os.environ.get("TENFOLD_DATA")
    if not folder_name:
        return [cache_folder()]
    folder = Path(folder_name).expanduser()
    if not folder.is_dir():
        raise DataFileError(f"TENFOLD_DATA names {folder}, which is no folder: correct or unset it")
    return [folder, cache_folder()]


def find_file(name: str) -> Path:
    """Return the path of a checked copy of a file, downloading it if it is nowhere."""
    copies = registry()[name]
    for folder in data_folders():
        for copy in copies:
            path = folder / copy.path
            if path.is_file():
                same_path = [other for other in copies if other.path == copy.path]
                _verify_content(
                    str(path), path.read_bytes(), same_path, "Nothing was deleted: put it right."
                )
                return path
    return _download(name)


def find_folder(path: str) -> Path:
    """Return a folder that the user must have put in place."""
    for folder in data_folders():
        if (folder / path).is_dir():
            return folder / path
    raise DataFileError(_missing_file_message(path, [path]))


def _missing_file_message(name: str, paths: list[str]) -> str:
    """Error message with the paths that were tried and the cure."""
    tried = " or ".join(str(folder / path) for folder in data_folders() for path in paths)
    advice = _ADVICE.get(paths[0].split("/")[0], "Download it where there is a network")
    return (
        f"no data for {name!r}: there is no {tried}. {advice}. Put it at one of these places, "
        "or set TENFOLD_DATA to the folder that holds it."
    )


def _verify_content(whence: str, content: bytes, copies: list[FileCopy], cure: str) -> None:
    """Compare size and checksum with those of any of the known copies."""
    size = len(content)
    for copy in copies:
        if copy.size in (None, size) and copy.sum in (None, _digest(content, copy.sum)):
            return
    expected = " or ".join(f"{copy.size or 'some'} bytes, {copy.sum}" for copy in copies)
    raise DataFileError(
        f"{whence} is not the file it should be: found {size} bytes, "
        f"{_digest(content, copies[0].sum)}; expected {expected}. "
        f"It is truncated or another version. {cure}"
    )


def _digest(content: bytes, like: str | None) -> str:
    """Return the checksum of a content, by the algorithm of the known one."""
    algorithm = (like or "sha256").partition(":")[0]
    return f"{algorithm}:{hashlib.new(algorithm, content, usedforsecurity=False).hexdigest()}"


def _download(name: str) -> Path:
    """Fetch a file into the cache folder; it appears under its name only when it is complete."""
    copies = registry()[name]
    copy = next((copy for copy in copies if copy.url), None)
    if copy is None or copy.url is None:
        raise DataFileError(_missing_file_message(name, [copy.path for copy in copies]))
    try:
        with urllib.request.urlopen(copy.url, timeout=_TIMEOUT_SECONDS) as answer:  # noqa: S310 - our list
            content = answer.read()
    except (OSError, HTTPException) as error:
        problem = (
            f"could not download {copy.url} ({error}); {_missing_file_message(name, [copy.path])}"
        )
        raise DataFileError(problem) from error
    _verify_content(
        copy.url, content, [copy], "Nothing was kept: try again, or report that it changed."
    )
    return save_file(content, cache_folder() / copy.path)


def save_file(content: bytes, target: Path) -> Path:
    """Write a file of the cache atomically, and its folder if there is none."""
    target.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(target, content)
    return target


@contextmanager
def archive_errors(path: Path) -> Iterator[None]:
    """Turn errors of unpacking into one that names the file."""
    try:
        yield
    except (*_ARCHIVE_ERRORS, gzip.BadGzipFile) as error:
        problem = f"{path} cannot be unpacked ({error}): it is truncated or no such archive"
        raise DataFileError(problem) from error


def read_bytes(path: Path) -> bytes:
    """Return the bytes of a file, without its gzip wrapping if it has one."""
    with archive_errors(path):
        raw = path.read_bytes()
        return gzip.decompress(raw) if path.suffix == ".gz" else raw


def archive_members(path: Path, pattern: str = "") -> Iterator[tuple[str, bytes]]:
    """Yield name and content of the files of an archive that match; nothing is extracted."""
    with archive_errors(path):
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                for name in archive.namelist():
                    if re.search(pattern, name) and not name.endswith("/"):
                        yield name, archive.read(name)
        else:
            yield from tar_members(io.BytesIO(path.read_bytes()), pattern)


def tar_members(file: IO[bytes], pattern: str = "") -> Iterator[tuple[str, bytes]]:
    """Yield name and content of the matching members of an open tar file, compressed or not."""
    with tarfile.open(fileobj=file) as archive:
        for member in archive:
            part = archive.extractfile(member) if re.search(pattern, member.name) else None
            if part is not None:
                yield member.name, part.read()


def check_figure(path: Path, what: str, found: object, wanted: object) -> None:
    """Raise an error if a figure of the file is not the published one."""
    if found != wanted:
        raise DataFileError(
            f"{path}: found {found} {what}, expected {wanted}. "
            "The file is truncated or another version. To fetch it again, move it away."
        )
