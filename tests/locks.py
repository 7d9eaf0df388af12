"""Locks as other threads see them."""

import threading
from typing import Any


def is_free(lock: Any) -> bool:
    """Whether another thread could take a lock at this moment, one that may be taken again by its owner too."""
    found = []

    def take() -> None:
        if lock.acquire(blocking=False):
            lock.release()
            found.append(lock)

    thread = threading.Thread(target=take)
    thread.start()
    thread.join()
    return bool(found)
