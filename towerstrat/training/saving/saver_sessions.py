"""The session whose values are saved or restored."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol, runtime_checkable

import jax

from towerstrat.graph.eager.context import EagerSession, context
from towerstrat.graph.ir.context_stacks import SessionLike, get_default_session
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.runtime.sessions.session import BaseSession


@runtime_checkable
class Wrapping(Protocol):
    """A session around another one, which has the values: a monitored session."""

    def _tf_sess(self) -> BaseSession | None: ...


class _Provider:
    """The function that gives a session where none is the default one."""

    function: Callable[[], SessionLike] | None = None


_provider = _Provider()


def register_session_provider(session_provider: Callable[[], SessionLike]) -> None:
    """Sets the function that gives the session of graphs where none is given and none is the default one.

    The first one stays, as libraries that are loaded twice expect.
    """
    if _provider.function is None:
        _provider.function = session_provider


def session_for(session: SessionLike | None, what: str) -> SessionLike:
    """The session given, the default one, or that of the provider. Raises RuntimeError where there is none."""
    session = session or get_default_session()
    if session is None and _provider.function is not None:
        return _provider.function()
    if session is None:
        raise RuntimeError(f"{what} in a graph needs a session: pass session=, or use `with tf.Session():`.")
    return session


@contextmanager
def held(session: SessionLike | None, what: str) -> Iterator[BaseSession | EagerSession]:
    """The session that has the values, that of eager code where it runs; nothing else runs in it meanwhile.

    Args:
      session: in a graph, the session; default the default session. what: who asks, for errors.

    Raises:
      RuntimeError: in a graph, no session. TypeError: another object. NotImplementedError: in a function.
    """
    if not get_default_graph().executing_eagerly:
        with held_in_graph(session, what) as found:
            yield found
        return
    eager = context().session
    with eager.lock, jax.enable_x64(True):
        yield eager


@contextmanager
def held_in_graph(session: SessionLike | None, what: str) -> Iterator[BaseSession]:
    """``held`` where operations are not executed eagerly."""
    if get_default_graph().building_function:
        raise NotImplementedError(
            f"Calling {what} from a function is not supported: files are written when Python runs. Call it outside."
        )
    found: SessionLike | Wrapping | None = session_for(session, what)
    if isinstance(found, Wrapping):
        found = found._tf_sess()
    if not isinstance(found, BaseSession):
        raise TypeError(f"{what}: 'session' must be a Session; {found!r}")
    with found.lock, jax.enable_x64(True):
        yield found
