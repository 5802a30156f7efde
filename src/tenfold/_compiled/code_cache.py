"""Files of compiled code that several processes may write at once.

numba numbers the files of a function, one for each combination of argument types, by an index: it
reads the index, takes the next number, writes the index, then the file. Two processes that compile
for different types at the same time take the same number, and the index names the code for one as
that for the other. A process that reads the index before the file is there gets what an older
version of the source has left under that number.

Here the name of a file follows from what it holds, and the file is written before the index names
it. An entry of the index that two writers lose costs a compilation, never a wrong function.

numba compiles a function anew if its own file has changed, not if one has from which it imports
constants or functions, which are part of its code. Here a change in any of them counts.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache
from pathlib import Path
from typing import Any

from numba.core import caching
from numba.core.caching import IndexDataCacheFile

_PACKAGE = Path(__file__).parents[1]
_IMPORT = re.compile(r"^(?:from|import) ([\w.]+)", re.MULTILINE)


@cache
def hash_sources(file: Path, package: Path = _PACKAGE) -> str:
    """A hash of a module and of all modules of the package that its compiled code is made of.

    These are what it imports, and what those import that use numba.
    """
    texts, waiting = {}, [file]
    while waiting:
        path = waiting.pop()
        texts[path] = path.read_text(encoding="utf-8")
        if path == file or "numba" in texts[path]:
            waiting += [
                found for found in _find_imports(texts[path], package) if found not in texts
            ]
    joined = "\n".join(texts[path] for path in sorted(texts))
    return hashlib.sha256(joined.encode()).hexdigest()


def _find_imports(text: str, package: Path) -> list[Path]:
    """Files of the package that a module imports at its beginning."""
    names = [name.split(".") for name in _IMPORT.findall(text)]
    stems = [package.joinpath(*parts[1:]) for parts in names if parts[0] == package.name]
    files = [stem.with_name(f"{stem.name}.py") for stem in stems]
    files += [stem / "__init__.py" for stem in stems]
    return [file for file in files if file.is_file()]


def stamp_with_imports(self: Any) -> Any:
    """What says whether compiled code in a file is that of the present sources."""
    own, file = _stamp_of_file(self), Path(self._py_file)
    return (own, hash_sources(file)) if _PACKAGE in file.parents else own


def save_by_content(self: Any, key: Any, data: Any) -> None:
    """Save compiled code under a name that no other types, target or version of the source has."""
    content = repr((key, self._source_stamp)).encode()
    name = self._data_name(int(hashlib.sha256(content).hexdigest()[:15], 16))
    self._save_data(name, data)
    overloads = self._load_index()
    overloads[key] = name
    self._save_index(overloads)


_locator: Any = caching._SourceFileBackedLocatorMixin  # noqa: SLF001
_stamp_of_file = _locator.get_source_stamp
_locator.get_source_stamp = stamp_with_imports
IndexDataCacheFile.save = save_by_content
