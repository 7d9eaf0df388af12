"""A checkpoint of three processes, which are threads here: whole or absent, and errors by the process' number."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from towerstrat import errors
from towerstrat.checkpoints import bundle_writer, dtypes
from towerstrat.checkpoints.bundle_reader import Bundle
from towerstrat.checkpoints.bundle_writer import Saved
from towerstrat.checkpoints.shard_layout import Form
from towerstrat.hosts import channels, store
from towerstrat.platform import logs
from towerstrat.training.saving import collective_save

COUNT = 3
VALUES = {name: np.arange(size, dtype=np.float32) + size for name, size in (("a", 700), ("b", 900), ("c", 800))}


class Processes(threading.local):
    """Which process the thread is, and how many channels it has."""

    count, index, begun = COUNT, 0, 0

    def channel(self):
        self.begun += 1
        return channels.Channel(self.begun)


class Service:
    """What all processes have said."""

    def __init__(self):
        self.said, self.changed = {}, threading.Condition()

    def key_value_set_bytes(self, key, value, allow_overwrite):
        with self.changed:
            self.said[key] = value
            self.changed.notify_all()

    def blocking_key_value_get_bytes(self, key, milliseconds):
        with self.changed:
            assert self.changed.wait_for(lambda: key in self.said, 60), f"nobody has said {key}"
            return self.said[key]

    def key_value_delete(self, key):
        """Nothing is heard twice."""


@pytest.fixture
def warned(monkeypatch):
    found = []
    monkeypatch.setattr(logs, "warning", lambda text, *values: found.append(text % values))
    return found


@pytest.fixture
def processes(monkeypatch):
    """Does something in each process; what it returns there, or the error."""
    who, service = Processes(), Service()
    monkeypatch.setattr(store, "client", lambda: service)
    for module in (channels, collective_save, store):
        monkeypatch.setattr(module, "PROCESSES", who)
    monkeypatch.setattr(collective_save, "COLLECTIVES", who)
    monkeypatch.setattr(collective_save, "FOLDERS", collective_save.Folders())
    collective_save.FOLDERS.smallest = 0
    monkeypatch.setattr(collective_save, "_PATIENCE", 0.0)
    # All processes have these values, as they have those that lie on the devices of all of them.
    monkeypatch.setattr(collective_save, "_form", lambda array, value: Form(value.shape, 4, array.code, True))

    def run(do):
        def one(index):
            who.index = index
            try:
                return do(index)
            except errors.OpError as error:
                return error

        return [future.result() for future in [pools[index].submit(one, index) for index in range(COUNT)]]

    pools = [ThreadPoolExecutor(1) for _ in range(COUNT)]
    yield run
    for pool in pools:
        pool.shutdown()


def arrays(names="abc", **loads):
    code = dtypes.code_of(np.dtype(np.float32))
    return [Saved(name, loads.get(name, lambda name=name: VALUES[name]), None, code) for name in names]


def saving(path, copied=False, **loads):
    return lambda index: collective_save.SharedSave(str(path), arrays(**loads), b"beside", copied)()


def data(folder):
    return sorted(path.name for path in folder.iterdir() if ".resume" not in path.name)


def shards(name, count):
    return [*(f"{name}.data-{i:05d}-of-{count:05d}" for i in range(count)), f"{name}.index"]


def assert_whole(path):
    bundle = Bundle(str(path))
    for name, value in VALUES.items():
        np.testing.assert_array_equal(bundle.read(name), value)
    sizes = [entry.size for key, entry in bundle._entries.items() if not entry.slices]
    assert sum(sizes) == sum(value.nbytes for value in VALUES.values())


@pytest.mark.parametrize("copied", [False, True])
def test_each_writes_a_part(tmp_path, processes, copied):
    for _ in range(2):
        assert processes(saving(tmp_path / "model", copied)) == [None] * COUNT
        assert_whole(tmp_path / "model")
        sizes = [path.stat().st_size for path in tmp_path.glob("model.data-*")]
        assert len(sizes) == COUNT
        assert max(sizes) - min(sizes) <= 16
        assert len(list(tmp_path.glob("model.resume-*"))) == 1


def test_few_bytes_are_written_by_the_first(tmp_path, processes):
    collective_save.FOLDERS.smallest = 1 << 20
    assert processes(saving(tmp_path / "model")) == [None] * COUNT
    assert data(tmp_path) == shards("model", 1)


@pytest.mark.parametrize("failing", range(COUNT))
def test_an_error_of_one_is_raised_in_all_and_nothing_is_left(tmp_path, processes, monkeypatch, failing):
    write = bundle_writer._Data.append

    def append(self, saved):
        if collective_save.PROCESSES.index == failing:
            raise errors.ResourceExhaustedError(None, None, "the disk is full")
        return write(self, saved)

    with monkeypatch.context() as patched:
        patched.setattr(bundle_writer._Data, "append", append)
        found = processes(saving(tmp_path / "model"))
    assert {type(error) for error in found} == {errors.ResourceExhaustedError}
    assert {error.message for error in found} == {f"Process {failing} of 3: the disk is full"}
    assert data(tmp_path) == []
    assert processes(saving(tmp_path / "model")) == [None] * COUNT
    assert_whole(tmp_path / "model")


def test_a_process_with_other_variables_is_named(tmp_path, processes):
    def save(index):
        collective_save.SharedSave(str(tmp_path / "model"), arrays("ab" if index == 2 else "abc"), None)()

    found = processes(save)
    assert {error.message.partition(". ")[0] for error in found} == {
        "Process 2 of 3 saves less, where process 0 saves c (float32 [800])"
    }
    assert data(tmp_path) == []


def not_seeing(monkeypatch):
    """The first process does not see what the last one has written."""
    tail = bundle_writer.tail
    monkeypatch.setattr(
        bundle_writer,
        "tail",
        lambda path: None if collective_save.PROCESSES.index == 0 and "-00002-" in path else tail(path),
    )


@pytest.mark.parametrize("copied", [False, True])
def test_the_first_writes_all_where_it_does_not_see_the_others(tmp_path, processes, warned, monkeypatch, copied):
    with monkeypatch.context() as patched:
        not_seeing(patched)
        assert processes(saving(tmp_path / "one", copied)) == [None] * COUNT
    assert data(tmp_path) == shards("one", 1)
    assert len(warned) == 1
    assert f"the processes do not share the folder {tmp_path}" in warned[0]
    assert processes(saving(tmp_path / "two", copied)) == [None] * COUNT
    assert data(tmp_path) == [*shards("one", 1), *shards("two", 1)]
    assert_whole(tmp_path / "two")
    (tmp_path / "other").mkdir()
    assert processes(saving(tmp_path / "other" / "one", copied)) == [None] * COUNT
    assert data(tmp_path / "other") == shards("one", COUNT)
    assert len(warned) == 1


def test_a_folder_that_is_shared_no_more_loses_one_that_was_saved_beside_training(
    tmp_path, processes, warned, monkeypatch
):
    assert processes(saving(tmp_path / "one", True)) == [None] * COUNT
    not_seeing(monkeypatch)
    found = processes(saving(tmp_path / "two", True))
    assert {type(error) for error in found} == {errors.FailedPreconditionError}
    assert all("two.data-00002-of-00003, which another process has written, is not there" in str(e) for e in found)
    assert data(tmp_path) == shards("one", COUNT)
    assert processes(saving(tmp_path / "two", True)) == [None] * COUNT
    assert data(tmp_path) == [*shards("one", COUNT), *shards("two", 1)]
    assert_whole(tmp_path / "two")
