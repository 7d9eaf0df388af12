"""The session whose values are saved or restored."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jax

from towerstrat.graph.eager.context import context
from towerstrat.graph.ir.core import get_default_graph
from towerstrat.graph.ir.stacks import SessionLike, get_default_session
from towerstrat.graph.runtime.session import BaseSession


def session_for(session: SessionLike | None, what: str) -> SessionLike:
    """The session given, or the default one. Raises RuntimeError where there is none."""
    session = session or get_default_session()
    if session is None:
        raise RuntimeError(f"{what} in a graph needs a session: pass session=, or use `with tf.Session():`.")
    return session


@contextmanager
def held(session: SessionLike | None, what: str) -> Iterator[SessionLike]:
    """The session that has the values, that of eager code where it runs; nothing else runs in it meanwhile.

    Args:
      session: in a graph, the session; default the default session. what: who asks, for errors.

    Raises:
      RuntimeError: in a graph, no session. TypeError: another object. NotImplementedError: in a function.
    """
    graph = get_default_graph()
    if graph.executing_eagerly:
        found: Any = context().session
    elif graph.building_function:
        raise NotImplementedError(
            f"Calling {what} from a function is not supported: files are written when Python runs. Call it outside."
        )
    else:
        found = session_for(session, what)
        if not isinstance(found, BaseSession):
            raise TypeError(f"{what}: 'session' must be a Session; {found!r}")
    with found.lock, jax.enable_x64(True):
        yield found
