"""Files that are whole or absent, and their checksums."""

import pytest

from towerstrat import errors
from towerstrat.platform.checksums import mask_crc, masked_crc
from towerstrat.platform.storage import storage_of


def test_the_checksum():
    # The value that the algorithm's description gives for these bytes.
    assert masked_crc(b"123456789") == mask_crc(0xE3069283)
    assert masked_crc(b"1234", b"56789") == masked_crc(b"123456789")
    assert masked_crc(b"") == mask_crc(0)


@pytest.fixture(params=["local", "memory"])
def folder(request, tmp_path):
    if request.param == "local":
        return str(tmp_path)
    pytest.importorskip("fsspec")
    return f"memory://{tmp_path.name}"


def written(path, data):
    with storage_of(path).writing(path) as file:
        file.write(data)


def content(path):
    ranges = storage_of(path).ranges(path)
    return bytes(ranges.read(0, len(ranges)))


def test_files_are_written_read_found_and_removed(folder):
    storage = storage_of(folder)
    paths = [f"{folder}/{name}" for name in ("model-1.data", "model-1.index", "other")]
    for path in paths:
        written(path, path.encode())
    assert content(paths[0]) == paths[0].encode()
    assert bytes(storage.ranges(paths[0]).read(2, 3)) == paths[0].encode()[2:5]
    assert [p.rpartition("/")[2] for p in storage.beginning_with(f"{folder}/model-1.")] == [
        "model-1.data",
        "model-1.index",
    ]
    assert [p.rpartition("/")[2] for p in storage.matching(f"{folder}/*.index")] == ["model-1.index"]
    assert storage.exists(paths[2])
    assert storage.modified(paths[2]) > 0
    storage.remove(paths[2])
    storage.remove(paths[2])
    assert not storage.exists(paths[2])
    with pytest.raises(errors.NotFoundError, match="other"):
        storage.ranges(paths[2])


def test_what_fails_leaves_what_was_there(folder):
    path = f"{folder}/file"
    written(path, b"first")
    with pytest.raises(RuntimeError, match="stop"), storage_of(path).writing(path) as file:
        file.write(b"second")
        raise RuntimeError("stop")
    assert content(path) == b"first"
    assert [p.rpartition("/")[2] for p in storage_of(path).beginning_with(path)] == ["file"]


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(errors.OpError, match="file"), storage_of(str(tmp_path)).writing(str(tmp_path / "file" / "x")):
        pass


def test_an_address_that_nothing_reaches():
    with pytest.raises(errors.UnsupportedError, match="nowhere://"):
        storage_of("nowhere://bucket/file")
