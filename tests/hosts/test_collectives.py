"""What processes tell each other, with a service that is a dictionary here."""

import threading

import pytest

from towerstrat.checkpoints import checkpoint_state
from towerstrat.errors import NotFoundError, UnknownError
from towerstrat.hosts import collectives, store
from towerstrat.hosts.process_index import PROCESSES
from towerstrat.training.saving import latest_checkpoint


class Service:
    """What all processes have said."""

    def __init__(self):
        self.said = {}

    def key_value_set_bytes(self, key, value, allow_overwrite):
        assert key not in self.said
        self.said[key] = value

    def blocking_key_value_get_bytes(self, key, milliseconds):
        return self.said[key]


@pytest.fixture
def processes(monkeypatch):
    """Does something as one process of two, each with a ``Collectives`` of its own."""
    service = Service()
    both = collectives.Collectives(), collectives.Collectives()
    monkeypatch.setattr(store, "client", lambda: service)
    monkeypatch.setattr(PROCESSES, "count", 2)
    monkeypatch.setattr(PROCESSES, "in_lockstep", True)

    def as_process(index, do):
        monkeypatch.setattr(PROCESSES, "index", index)
        return do(both[index])

    return as_process


def raising(error):
    def do():
        raise error

    return lambda group: group.on_first_process(do)


def test_the_first_does_it_and_others_only_wait(processes):
    done = []
    for index in range(2):
        processes(index, lambda group, index=index: group.on_first_process(lambda: done.append(index)))
    assert done == [0]
    said = [processes(index, lambda group, index=index: group.broadcast(index + 0.5)) for index in range(2)]
    assert said == [0.5, 0.5]


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (NotFoundError(None, None, "no folder"), NotFoundError, "no folder"),
        (OSError("held", threading.Lock()), UnknownError, "Process 0 has raised OSError"),
    ],
)
def test_others_get_what_the_first_has_raised(processes, error, kind, text):
    with pytest.raises(type(error)):
        processes(0, raising(error))
    with pytest.raises(kind, match=text):
        processes(1, raising(AssertionError("not done twice")))


def test_all_go_on_from_the_checkpoint_that_the_first_has_found(processes, monkeypatch, tmp_path):
    def latest(group):
        monkeypatch.setattr(latest_checkpoint, "COLLECTIVES", group)
        return latest_checkpoint.latest_checkpoint(str(tmp_path))

    def saved(name):
        path = str(tmp_path / name)
        (tmp_path / f"{name}.index").touch()
        checkpoint_state.write_state(
            str(tmp_path), checkpoint_state.new_state(str(tmp_path), path, [path], None, None), None
        )
        return path

    assert processes(0, latest) is None
    first = saved("model-1")
    assert processes(1, latest) is None
    assert processes(0, latest) == first
    saved("model-2")
    assert processes(1, latest) == first


def test_a_barrier_waits_for_each_of_the_others(processes, monkeypatch):
    """The service has no word of process 2, for which a real one would wait."""
    monkeypatch.setattr(PROCESSES, "count", 3)
    with pytest.raises(KeyError, match="/0/"):
        processes(1, lambda group: group.barrier())
    with pytest.raises(KeyError, match="/2/"):
        processes(0, lambda group: group.barrier())
