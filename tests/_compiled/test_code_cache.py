"""Compiled code of one combination of types is never taken for that of another."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba.core.caching import IndexDataCacheFile

import tenfold._compiled  # noqa: F401 - installs the names of files
from tenfold._compiled.code_cache import hash_sources


def files(folder, stamp=1):
    return IndexDataCacheFile(str(folder), "function", stamp)


def test_writers_that_do_not_see_each_other_name_other_files(tmp_path, monkeypatch):
    one, two = files(tmp_path), files(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(IndexDataCacheFile, "_load_index", lambda _: {})  # both read it before
        one.save("float32", "code for float32")
        two.save("float64", "code for float64")
    assert files(tmp_path).load("float64") == "code for float64"
    assert files(tmp_path).load("float32") in {None, "code for float32"}


def test_the_index_names_no_file_that_is_not_there(tmp_path, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(IndexDataCacheFile, "_save_data", stop)
    with pytest.raises(KeyboardInterrupt):
        files(tmp_path).save("float32", "code")
    assert files(tmp_path)._load_index() == {}


def test_code_of_another_version_of_the_source_is_not_loaded(tmp_path):
    files(tmp_path, 1).save("float32", "old")
    new = files(tmp_path, 2)
    assert new.load("float32") is None
    new.save("float32", "new")
    assert files(tmp_path, 2).load("float32") == "new"
    assert len(list(tmp_path.glob("*.nbc"))) == 2


def test_a_change_in_what_a_module_imports_is_another_version(tmp_path):
    package = tmp_path / "tenfold"
    package.mkdir()
    sources = {
        "kernel": "from numba import njit\nfrom tenfold.inner import add\n",
        "inner": "from numba import njit\nfrom tenfold.constants import ONE\n",
        "constants": "ONE = 1\nfrom tenfold.other import UNUSED\n",
        "other": "UNUSED = 1\n",
    }

    def stamp(**changed):
        for name, text in (sources | changed).items():
            (package / f"{name}.py").write_text(text)
        hash_sources.cache_clear()
        return hash_sources(package / "kernel.py", package)

    first = stamp()
    assert stamp(inner=sources["inner"] + "# more\n") != first
    assert stamp(constants="ONE = 2\n") != first
    assert stamp(other="UNUSED = 2\n") == first  # constants are no compiled code
    assert stamp() == first


def test_compiled_code_of_tenfold_is_stamped_by_all_its_sources():
    from tenfold.tree._few_rows_numba import grow_on_few_rows

    locator = grow_on_few_rows._cache._impl.locator
    assert locator.get_source_stamp()[1] == hash_sources(Path(locator._py_file))


def test_processes_find_what_others_compiled(tmp_path):
    (tmp_path / "kernel.py").write_text(
        "import sys, numpy as np, tenfold._compiled\n"
        "from numba import njit\n\n"
        "@njit(cache=True)\ndef double(x):\n    return x + x\n\n"
        "print(double(np.ones(2, sys.argv[1])).dtype, sum(double.stats.cache_hits.values()))\n"
    )
    run = lambda kind: subprocess.run(  # noqa: E731
        [sys.executable, "kernel.py", kind],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    kinds = [np.dtype(kind).name for kind in ("f4", "f8")]
    assert [run(kind) for kind in kinds] == [[kind, "0"] for kind in kinds]
    assert [run(kind) for kind in kinds] == [[kind, "1"] for kind in kinds]
