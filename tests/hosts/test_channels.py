"""What the first process and others tell each other, with a service that is a dictionary here."""

import pytest

from towerstrat.errors import ResourceExhaustedError
from towerstrat.hosts import channels, collectives, store
from towerstrat.hosts.authentication import CODE_BYTES
from towerstrat.hosts.process_index import PROCESSES
from towerstrat.platform import logs


class Service(dict):
    """What was said, in messages of bounded size."""

    def key_value_set_bytes(self, key, value, allow_overwrite):
        assert key not in self
        assert len(value) <= store._PART + 1 + CODE_BYTES
        self[key] = value

    def blocking_key_value_get_bytes(self, key, milliseconds):
        return self[key]

    def key_value_delete(self, key):
        for name in [name for name in self if name == key or name.startswith(f"{key}/")]:
            del self[name]


@pytest.fixture
def service(monkeypatch):
    found = Service()
    monkeypatch.setattr(store, "client", lambda: found)
    monkeypatch.setattr(store, "_PART", 100)
    monkeypatch.setattr(store.STORE, "_named", set())
    monkeypatch.setattr(PROCESSES, "count", 3)
    return found


def test_what_is_told_is_heard_in_order_and_reports_are_not_kept(service, monkeypatch):
    first, others = channels.Channel(7), [channels.Channel(7), channels.Channel(7)]
    first.broadcast(("begin", 3))
    for index, other in enumerate(others, 1):
        monkeypatch.setattr(PROCESSES, "index", index)
        assert other.receive(tuple[str, int]) == ("begin", 3)
        other.report((index,) * 500)
    monkeypatch.setattr(PROCESSES, "index", 0)
    assert first.reports(tuple[int, ...]) == [(1,) * 500, (2,) * 500]
    assert [key for key in service if "reported" in key] == []
    first.broadcast(None)
    assert [other.receive(str | None) for other in others] == [None, None]


def test_each_task_has_a_channel_of_its_own(service):
    one, other = collectives.Collectives(), collectives.Collectives()
    for number in range(2):
        one.channel().broadcast(number)
    assert [other.channel().receive(int) for _ in range(2)] == [0, 1]


def test_what_is_longer_than_the_bound_is_refused_where_it_is_told(service):
    with pytest.raises(ResourceExhaustedError, match=f"Expected at most {100 * 1024} bytes .* got 200002 for talk/7"):
        channels.Channel(7).broadcast("x" * 200_000)


@pytest.fixture
def warned(monkeypatch):
    found = []
    monkeypatch.setattr(logs, "warning", lambda text, *values: found.append(text % values))
    return found


@pytest.mark.parametrize("foreign", [b".\x80\x04N.", b"", b"x" * 200], ids=["without a code", "nothing", "too long"])
def test_what_a_stranger_has_written_is_refused_and_the_right_message_waited_for(service, warned, monkeypatch, foreign):
    channels.Channel(7).broadcast("right")
    (path,) = service
    right, service[path] = service[path], foreign
    monkeypatch.setattr(store.time, "sleep", lambda seconds: service.update({path: right}))
    assert channels.Channel(7).receive(str) == "right"
    assert len(warned) == 1
    assert warned[0].startswith("Refused in the store of the run: ")
    assert warned[0].endswith("The message of process 0 is waited for.")
    assert path in warned[0]


def test_a_message_of_another_place_or_run_is_refused(service, warned, monkeypatch):
    channels.Channel(7).broadcast("before")
    channels.Channel(8).broadcast("right")
    before, path = service["towerstrat/talk/7/told/1/0/0"], "towerstrat/talk/8/told/1/0/0"
    right = service[path]
    other_run = store.STORE.key.derive(b"other").seal(path, 0, right[CODE_BYTES:])
    for foreign in (before, other_run):
        service[path] = foreign
        monkeypatch.setattr(store.time, "sleep", lambda seconds: service.update({path: right}))
        assert channels.Channel(8).receive(str) == "right"
    assert len(warned) == 1


def test_who_has_left_a_message_is_told_by_its_code(service, warned):
    service.key_value_dir_get_bytes = lambda folder: [(k, v) for k, v in service.items() if k.startswith(f"{folder}/")]
    store.STORE.put("refused", b"mine")
    service["towerstrat/refused/1/0"] = service["towerstrat/refused/0/0"]
    service["towerstrat/refused/x/0"] = service["towerstrat/refused/9/0"] = b""
    assert store.STORE.senders("refused") == [0]
