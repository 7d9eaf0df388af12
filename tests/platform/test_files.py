"""Files under the names of ``tf.gfile``, on the disk and where fsspec reaches."""

import sys

import pytest

from towerstrat import errors
from towerstrat.platform import files


@pytest.fixture(params=["local", "memory"])
def place(request, tmp_path):
    """The path of an empty folder."""
    if request.param == "local":
        return str(tmp_path)
    pytest.importorskip("fsspec")
    files.MakeDirs(f"memory://{tmp_path.name}")
    return f"memory://{tmp_path.name}"


def write(path, text):
    with files.GFile(str(path), "w") as file:
        file.write(text)


def test_reads_text_and_bytes(place):
    path = f"{place}/a"
    write(path, "äb\ncd")
    assert files.GFile(str(path)).read() == "äb\ncd"
    assert files.GFile(str(path), "rb").read() == "äb\ncd".encode()
    assert files.GFile(str(path)).readlines() == ["äb\n", "cd"]
    assert list(files.GFile(path)) == ["äb\n", "cd"]
    with files.GFile(str(path), "rb") as file:
        assert file.readline() == "äb\n".encode()
        assert file.tell() == 4
        file.seek(-1, whence=2)
        assert file.read(5) == b"d"
        file.seek(position=0)
        assert file.read(2) == "ä".encode()
        assert file.size() == 6


def test_appends_and_updates(tmp_path):
    path = tmp_path / "a"
    write(path, "one")
    with files.GFile(str(path), "a") as file:
        file.write(b" two")
    with files.GFile(str(path), "r+") as file:
        assert file.read() == "one two"
        file.write("!")
        assert file.size() == 8
    assert files.GFile(str(path)).read() == "one two!"


def test_a_file_that_is_only_opened_for_writing_is_not_made(tmp_path):
    files.GFile(str(tmp_path / "a"), "w").close()
    assert not files.Exists(str(tmp_path / "a"))


def test_folders(place):
    top = f"{place}/top"
    files.MakeDirs(top + "/x/y")
    files.MakeDirs(top + "/x/y")
    files.MakeDirs("")
    files.MkDir(top + "/x")
    write(f"{place}/top/b", "b")
    write(f"{place}/top/x/a", "a")
    assert files.ListDirectory(top) == ["b", "x"]
    assert files.IsDirectory(top)
    assert not files.IsDirectory(top + "/b")
    assert files.Glob(top + "/*") == [top + "/b", top + "/x"]
    assert files.Glob([top + "/b", top + "/nothing*"]) == [top + "/b"]
    down = [(top, ["x"], ["b"]), (top + "/x", ["y"], ["a"]), (top + "/x/y", [], [])]
    assert list(files.Walk(top)) == down
    assert [folder for folder, _, _ in files.Walk(top, in_order=False)] == [d[0] for d in reversed(down)]
    assert files.Stat(top).is_directory
    files.DeleteRecursively(top)
    assert not files.Exists(top)


def test_copy_and_rename_replace_only_when_told(place):
    one, two = f"{place}/one", f"{place}/two"
    write(one, "1")
    write(two, "2")
    for function in (files.Copy, files.Rename):
        with pytest.raises(errors.AlreadyExistsError, match="overwrite"):
            function(one, two)
    files.Copy(one, one, overwrite=True)
    files.Copy(one, two, overwrite=True)
    assert files.GFile(two).read() == files.GFile(one).read() == "1"
    files.Rename(one, two, overwrite=True)
    assert not files.Exists(one)


@pytest.mark.parametrize(
    ("kind", "action"),
    [
        (errors.NotFoundError, lambda d: files.GFile(d + "/no").read()),
        (errors.NotFoundError, lambda d: files.GFile(d + "/no/no", "w").write("")),
        (errors.NotFoundError, lambda d: files.Remove(d + "/no")),
        (errors.NotFoundError, lambda d: files.Stat(d + "/no")),
        (errors.NotFoundError, lambda d: files.MkDir(d + "/no/no")),
        (errors.NotFoundError, lambda d: files.ListDirectory(d + "/no")),
        (errors.NotFoundError, lambda d: files.Rename(d + "/no", d + "/to")),
        (errors.NotFoundError, lambda d: files.DeleteRecursively(d + "/no")),
        (errors.FailedPreconditionError, lambda d: files.GFile(d).read()),
        (errors.PermissionDeniedError, lambda d: files.GFile(d + "/a", "w").read()),
        (errors.PermissionDeniedError, lambda d: files.GFile(d + "/a", "r").write("")),
        (errors.InvalidArgumentError, lambda d: files.GFile(d + "/a", "x")),
        (errors.UnsupportedError, lambda d: files.Exists("nowhere://bucket/model")),
        (errors.UnsupportedError, lambda d: files.GFile("nowhere://host/file")),
    ],
)
def test_errors_are_those_of_the_original(tmp_path, kind, action):
    with pytest.raises(kind):
        action(str(tmp_path))


def test_a_path_that_nothing_reaches_is_refused_by_its_name():
    with pytest.raises(errors.UnsupportedError, match=r"nowhere://.*local folder"):
        files.Glob("nowhere://bucket/model*")
    assert files.Exists("file:///")


def test_without_fsspec_remote_paths_say_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(errors.UnsupportedError, match=r"memory://.*towerstrat\[remote\]"):
        files.Exists("memory://bucket/model")


def test_files_are_copied_between_file_systems_and_not_renamed(tmp_path):
    pytest.importorskip("fsspec")
    here, there = str(tmp_path / "a"), f"memory://{tmp_path.name}/a"
    write(here, "text")
    files.Copy(here, there)
    with pytest.raises(errors.AlreadyExistsError):
        files.Copy(there, here)
    files.Copy(there, here + "b")
    assert files.GFile(here + "b").read() == "text"
    with pytest.raises(errors.UnimplementedError, match="Copy and Remove"):
        files.Rename(here, there + "c")


def test_whole_files(place):
    path = f"{place}/whole"
    files.write_string_to_file(path, "één")
    assert files.read_file_to_string(path) == "één"
    assert files.read_file_to_string(path, binary_mode=True) == "één".encode()
    with pytest.raises(errors.AlreadyExistsError):
        files.atomic_write_string_to_file(path, "two", overwrite=False)
    files.atomic_write_string_to_file(path, "two")
    assert files.read_file_to_string(path) == "two"
    assert files.ListDirectory(place) == ["whole"]
