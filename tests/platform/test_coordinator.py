"""Coordinators as several threads use them."""

import threading

from tests.locks import is_free
from towerstrat.platform.coordinator import Coordinator


def test_threads_wait_while_one_is_registered():
    coordinator, free = Coordinator(), []

    class Threads(set):
        def add(self, thread):
            free.append(is_free(coordinator._lock))
            super().add(thread)

    coordinator._threads = Threads()
    coordinator.register_thread(threading.current_thread())
    assert free == [False]
