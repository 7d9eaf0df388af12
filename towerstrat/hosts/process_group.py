"""The program's side of a run: it joins the other processes before JAX starts, and leaves them when it ends.

``join`` reads and removes what the supervisor has put into the environment (``environment_variables``) and brings up
what spans processes, in this order:

    JAX          ``jax.distributed.initialize``: coordinator in process 0, collectives of the CPU by gloo
    PROCESSES    count and index; process 0 writes for all
    STORE        the key of message codes
    SHARED       one seed for Python's and numpy's random numbers, broadcast by process 0: the first exchange
    atexit       ``_leave``

JAX's own timeouts are a week, and its handler of SIGTERM is off: supervisors watch the processes, and name who is at
fault. SIGTERM ends the program at once, unless a part of it, such as a monitored session, polls for a stop that all
processes make together (``PROGRESS.stops``).

A program that fails must not run JAX's shutdown, a barrier at which it would wait for the others, which wait for it in
a collective. So ``run_joined`` notes the failure, and ``_leave`` ends the process by ``os._exit``. A process
that is alone has nobody to join or to leave:

>>> run_joined(lambda: 3), failure()
(3, None)
>>> _status(SystemExit(2)), _status(ValueError("no data")), _status(KeyboardInterrupt())
(2, 1, 130)
"""

from __future__ import annotations

import atexit
import faulthandler
import logging
import os
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import jax
from jax._src import xla_bridge
from jaxlib import _jax

from towerstrat.hosts import environment_variables
from towerstrat.hosts.authentication import SECRET, MessageKey
from towerstrat.hosts.heartbeat import ENDED, FAILING, PROGRESS, STARTING
from towerstrat.hosts.process_index import PROCESSES
from towerstrat.hosts.process_spec import WHERE
from towerstrat.hosts.shared_seeds import SHARED
from towerstrat.hosts.sockets import is_local
from towerstrat.hosts.store import STORE, client
from towerstrat.platform.deferred import jax_extend
from towerstrat.platform.error_text import error_text

_LONG = 7 * 24 * 3600
"""Seconds of JAX's own timeouts, a week: supervisors watch the processes, and say more."""


class _End:
    """Failure of this program.

    Attributes:
      status: its exit status; None: it has not failed.
      words: the error as text; None: it has not failed.
    """

    def __init__(self) -> None:
        self.status: int | None = None
        self.words: str | None = None


_END = _End()


def join() -> None:
    """Joins the other processes of the run, where the environment names any, and sets ``PROCESSES``.

    To be called before JAX makes its backends. On the CPU collectives go by gloo, unless
    ``JAX_CPU_COLLECTIVES_IMPLEMENTATION`` says otherwise. JAX's preemption service is off: SIGTERM is the program's.

    Raises:
      RuntimeError: JAX has made its backends already, or its coordinator cannot be reached.
    """
    hosts = os.environ.pop(environment_variables.HOSTS, None)
    key = os.environ.pop(environment_variables.KEY, "")
    os.environ.pop(SECRET, None)  # for supervisors only
    if hosts is None:
        return
    count, index = int(hosts), int(os.environ.pop(environment_variables.HOST))
    address = os.environ.pop(environment_variables.COORDINATOR)
    gloo_address = os.environ.pop(environment_variables.ADDRESS)
    if count == 1:
        return
    if "JAX_CPU_COLLECTIVES_IMPLEMENTATION" not in os.environ:
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
        if gloo_address:
            jax_extend.backend.register_backend_factory("cpu", lambda: _cpu_client(gloo_address), fail_quietly=False)
    jax.config.update("jax_enable_preemption_service", False)
    # Processes come to their first computation at different times.
    jax.config.update("jax_cpu_get_local_topology_timeout_minutes", _LONG // 60)
    jax.config.update("jax_cpu_get_global_topology_timeout_minutes", _LONG // 60 + 1)
    PROGRESS.enter(STARTING, f"joining the other processes at {address or 'the address of the slice'}")
    jax.distributed.initialize(
        address or None,
        count if address else None,
        index if address else None,
        cluster_detection_method="deactivate" if address else None,
        # By default it would listen at all addresses of the machine.
        coordinator_bind_address=address if address and is_local(address) else None,
        initialization_timeout=_LONG,
        heartbeat_timeout_seconds=_LONG,
        shutdown_timeout_seconds=_LONG,
    )
    PROGRESS.enter(STARTING)
    faulthandler.register(WHERE)
    if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _end_by_signal)
    PROCESSES.join(count, index)
    STORE.key = MessageKey(bytes.fromhex(key))
    SHARED.begin()
    atexit.register(_leave)  # after JAX's handler, so that it runs before


def _cpu_client(address: str) -> Any:
    """JAX's CPU client, with gloo collectives that others reach by ``address``.

    By default gloo takes what the host's name resolves to here, which is the loopback on many hosts.
    """
    return xla_bridge.make_cpu_client(_jax.make_gloo_tcp_collectives(client(), address))


def _end_by_signal(number: int, frame: FrameType | None) -> None:
    """Handler of SIGTERM: exits, unless a part of the program polls for a stop that all processes make together."""
    if not PROGRESS.stops:
        raise SystemExit(128 + number)


def run_joined(program: Callable[[], int]) -> int:
    """Joins, and runs a program; where that fails, this process will exit without JAX's shutdown barrier.

    Args:
      program: returns its exit status, or raises; so does this function.
    """
    join()
    try:
        status = program()
    except BaseException as error:
        _note_failure(_status(error), error_text(error))
        raise
    _note_failure(status, f"exit status {status}")
    return status


def _note_failure(status: int, description: str) -> None:
    """Notes a failure for ``_leave``, and tells the supervisor of it at once."""
    # Where all stop together after SIGTERM, all come to JAX's barrier.
    if status and PROCESSES.count > 1 and not PROGRESS.reached_stop():
        PROGRESS.enter(FAILING, description)
        _END.status, _END.words = status, description


def failure() -> str | None:
    """The text of the error that the program has failed with; None: it has not failed."""
    return _END.words


def _status(error: BaseException) -> int:
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else int(error.code is not None)
    return 130 if isinstance(error, KeyboardInterrupt) else 1


def _leave() -> None:
    """Handler at exit: after a failure flushes output and exits at once, before JAX's handler waits for the others."""
    if _END.status is None:
        PROGRESS.enter(ENDED)
        return
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(_END.status)
