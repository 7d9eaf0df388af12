"""Temporary files: whose are removed by the next writer in a folder, and whose are left."""

import socket

from towerstrat.platform import writers


def test_left_files_are_removed_but_for_other_paths_of_other_machines(tmp_path):
    here, left = socket.gethostname(), f"{1:d}-01234567.tmp"
    gone = [f"model.index.{here}-{left}", f"other.data-00000-of-00001.{here}-{left}", f"model.index.far.away-{left}"]
    stays = [f"other.data-00001-of-00002.far.away-{left}", "mine.tmp", f"other.x{here}-{left}"]
    for name in gone + stays:
        (tmp_path / name).touch()
    assert writers.remove_abandoned(str(tmp_path / "model.index")) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(stays)


def test_who_writes_a_path_is_named_and_its_file_left(tmp_path):
    path = str(tmp_path / "model.index")
    with writers.temporary(path) as file:
        (writer,) = writers.remove_abandoned(path)
        assert writer.startswith("process ")
        assert writer.endswith(f" on {socket.gethostname()}")
        assert writers.remove_abandoned(str(tmp_path / "other")) == []
        file.write(b"there")
    assert list(tmp_path.iterdir()) == []
