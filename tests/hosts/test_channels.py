"""What the first process and others tell each other, with a service that is a dictionary here."""

import pytest

from towerstrat.errors import ResourceExhaustedError
from towerstrat.hosts import channels, store
from towerstrat.hosts.process_index import PROCESSES


class Service(dict):
    """What was said, in messages of bounded size."""

    def key_value_set_bytes(self, key, value, allow_overwrite):
        assert key not in self
        assert len(value) <= store._PART + 1
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
    monkeypatch.setattr(PROCESSES, "count", 3)
    return found


def test_what_is_told_is_heard_in_order_and_reports_are_not_kept(service, monkeypatch):
    first, others = channels.Channel(7), [channels.Channel(7), channels.Channel(7)]
    first.tell(("begin", 3))
    for index, other in enumerate(others, 1):
        monkeypatch.setattr(PROCESSES, "index", index)
        assert other.hear(tuple[str, int]) == ("begin", 3)
        other.report((index,) * 500)
    monkeypatch.setattr(PROCESSES, "index", 0)
    assert first.reports(tuple[int, ...]) == [(1,) * 500, (2,) * 500]
    assert [key for key in service if "reported" in key] == []
    first.tell(None)
    assert [other.hear(str | None) for other in others] == [None, None]


def test_each_thing_has_a_talk_of_its_own(service):
    one, other = channels.Talks(), channels.Talks()
    for number in range(2):
        one.begin().tell(number)
    assert [other.begin().hear(int) for _ in range(2)] == [0, 1]


def test_what_is_longer_than_the_bound_is_refused_where_it_is_told(service):
    with pytest.raises(ResourceExhaustedError, match=f"Expected at most {100 * 1024} bytes .* got 200002 for talk/7"):
        channels.Channel(7).tell("x" * 200_000)
