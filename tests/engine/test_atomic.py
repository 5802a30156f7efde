"""Files that are written atomically: complete and under their name, or not at all."""

import os
import stat

import pytest

from tenfold.engine.atomic import atomic_path, write_atomic


def test_a_file_appears_when_it_is_complete(tmp_path):
    target = tmp_path / "x.bin"
    with atomic_path(target) as temporary:
        temporary.write_bytes(b"half")
        assert not target.exists()
        assert temporary.parent == tmp_path
    assert target.read_bytes() == b"half"
    assert list(tmp_path.iterdir()) == [target]


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path):
    target = tmp_path / "x.txt"
    write_atomic(target, "old")

    def fail():
        with atomic_path(target) as temporary:
            temporary.write_text("new")
            raise RuntimeError("no room")

    with pytest.raises(RuntimeError, match="no room"):
        fail()
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_the_content_is_on_the_disk_before_the_name(tmp_path, monkeypatch):
    order = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda fd: order.append("fsync") or fsync(fd))
    monkeypatch.setattr(os, "replace", lambda a, b: order.append("replace") or replace(a, b))
    write_atomic(tmp_path / "x", b"content")
    assert order == ["fsync", "replace"]


def test_text_is_utf8_and_permissions_are_the_usual_ones(tmp_path):
    write_atomic(tmp_path / "x", "Größe")
    (tmp_path / "usual").write_bytes(b"")
    assert (tmp_path / "x").read_bytes() == "Größe".encode()
    modes = {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("x", "usual")}
    assert len(modes) == 1
