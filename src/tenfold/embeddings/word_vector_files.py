"""Files of word vectors in the formats of word2vec and GloVe; nothing in them is executed.

Text: a line with the numbers of words and of components (GloVe's files have none), then a line for
each word. Binary: the same first line, then each word, a blank and its float32 numbers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from tenfold.embeddings.word_vectors import WordVectors
from tenfold.engine.atomic import atomic_path

_MAX_COMPONENTS = 100_000
_MAX_WORD_BYTES = 10_000


def write_word_vectors(path: Any, words: Any, vectors: Any, *, binary: bool = False) -> None:
    """Write vectors of words in the text or binary format of word2vec, as float32.

    Parameters
    ----------
    path : path
        The file to write; it is replaced only when the new one is complete.
    words : list of str
        Words without blanks and line ends.
    vectors : (n_words, n_components) array
        Their vectors.
    binary : bool
        Whether to write bytes instead of digits.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_word_vectors(Path(folder, "v.txt"), ["a", "b"], [[1.0, 2.0], [3.0, 0.5]])
    ...     print(Path(folder, "v.txt").read_text().strip())
    2 2
    a 1 2
    b 3 0.5
    """
    array = np.asarray(vectors, np.float32)
    if array.ndim != 2 or len(array) != len(words):
        raise ValueError(f"{len(words)} words, but vectors of shape {array.shape}")
    for word in words:
        if not isinstance(word, str) or not word or word.split() != [word]:
            raise ValueError(f"{word!r} cannot stand in such a file: a word is text without blanks")
    with atomic_path(path) as temporary, Path(temporary).open("wb") as file:
        file.write(f"{array.shape[0]} {array.shape[1]}\n".encode())
        for word, row in zip(words, array, strict=True):
            if binary:
                file.write(word.encode() + b" " + row.astype("<f4").tobytes() + b"\n")
            else:
                digits = " ".join(np.format_float_positional(x, trim="-") for x in row)
                file.write(f"{word} {digits}\n".encode())


def read_word_vectors(
    path: Any, *, binary: bool | None = None, limit: int | None = None
) -> WordVectors:
    r"""Read vectors of words from a file of word2vec or GloVe.

    Parameters
    ----------
    path : path
        The file.
    binary : bool, optional
        Whether its numbers are bytes; by default that is seen from the file.
    limit : int, optional
        Read only so many words, the first ones.

    Returns
    -------
    WordVectors

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "v.txt").write_text("the 1 0\ncat 0.5 2\n")
    ...     read_word_vectors(Path(folder, "v.txt"))["cat"].tolist()
    [0.5, 2.0]
    """
    path = Path(path)
    with path.open("rb") as file:
        header = _read_header(file)
        if binary is None:
            binary = header is not None and _looks_binary(file, header[1])
        if binary and header is None:
            raise ValueError(
                f"{path}: the first line must give the numbers of words and components"
            )
        if binary and header is not None:
            words, vectors = _read_binary(file, path, header, limit)
        else:
            words, vectors = _read_text(file, path, header, limit)
    return WordVectors(words, vectors)


def _read_header(file: BinaryIO) -> tuple[int, int] | None:
    """Numbers of words and components, if the first line gives them; else the file is rewound."""
    line = file.readline(_MAX_WORD_BYTES)
    parts = line.split()
    if len(parts) == 2 and all(part.isdigit() and len(part) < 12 for part in parts):
        return int(parts[0]), int(parts[1])
    file.seek(0)
    return None


def _looks_binary(file: BinaryIO, components: int) -> bool:
    """Whether what follows the first word is not a line of so many numbers."""
    at = file.tell()
    sample = file.readline(_MAX_WORD_BYTES + 40 * components)
    file.seek(at)
    try:
        parts = sample.decode().split()
        [float(part) for part in parts[1:]]
    except ValueError:
        return True
    return len(parts) != components + 1


def _read_binary(
    file: BinaryIO, path: Path, header: tuple[int, int], limit: int | None
) -> tuple[list[str], np.ndarray]:
    n, d = header
    left = path.stat().st_size - file.tell()
    if not 0 < d <= _MAX_COMPONENTS or n * (4 * d + 1) > left:
        raise ValueError(f"{path}: {n} words of {d} components do not fit into its {left} bytes")
    n = n if limit is None else min(n, limit)
    words, vectors = [], np.empty((n, d), np.float32)
    for row in vectors:
        word = b""
        while (letter := file.read(1)) != b" ":
            if not letter or len(word) > _MAX_WORD_BYTES:
                raise ValueError(f"{path}: it ends, or has no blank, within word {len(words)}")
            word += b"" if letter == b"\n" else letter
        numbers = file.read(4 * d)
        if len(numbers) < 4 * d:
            raise ValueError(f"{path}: it ends within the vector of word {len(words)}")
        row[:] = np.frombuffer(numbers, "<f4")
        words.append(word.decode("utf-8", "replace"))
    return words, vectors


def _read_text(
    file: BinaryIO, path: Path, header: tuple[int, int] | None, limit: int | None
) -> tuple[list[str], np.ndarray]:
    words: list[str] = []
    rows: list[np.ndarray] = []
    d = None if header is None else header[1]
    for number, line in enumerate(file, start=1 if header is None else 2):
        if limit is not None and len(words) == limit:
            break
        word, _, rest = line.decode("utf-8", "replace").rstrip("\r\n ").partition(" ")
        try:
            row = np.array(rest.split(), np.float32)
        except ValueError:
            raise ValueError(f"{path}, line {number}: no numbers after the word {word!r}") from None
        d = len(row) if d is None else d
        if len(row) != d or d == 0:
            raise ValueError(f"{path}, line {number}: {len(row)} numbers after {word!r}, not {d}")
        words.append(word)
        rows.append(row)
    if header is not None and limit is None and len(words) != header[0]:
        raise ValueError(f"{path}: {len(words)} words, but its first line says {header[0]}")
    if not rows:
        raise ValueError(f"{path}: there are no words")
    return words, np.stack(rows)
