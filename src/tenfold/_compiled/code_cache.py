"""Files of compiled code that several processes may write at once.

numba numbers the files of a function, one for each combination of argument types, by an index: it
reads the index, takes the next number, writes the index, then the file. Two processes that compile
for different types at the same time take the same number, and the index names the code for one as
that for the other. A process that reads the index before the file is there gets what an older
version of the source has left under that number.

Here the name of a file follows from what it holds, and the file is written before the index names
it. An entry of the index that two writers lose costs a compilation, never a wrong function.
"""

from __future__ import annotations

import hashlib
from typing import Any

from numba.core.caching import IndexDataCacheFile


def save_by_content(self: Any, key: Any, data: Any) -> None:
    """Save compiled code under a name that no other types, target or version of the source has."""
    content = repr((key, self._source_stamp)).encode()
    name = self._data_name(int(hashlib.sha256(content).hexdigest()[:15], 16))
    self._save_data(name, data)
    overloads = self._load_index()
    overloads[key] = name
    self._save_index(overloads)


IndexDataCacheFile.save = save_by_content
