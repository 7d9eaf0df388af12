"""The program's side: it joins the other processes before JAX starts, and leaves them."""

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
"""Seconds that JAX's own clocks wait. Supervisors look after the processes, and say more."""


class _End:
    """How this program ends.

    Attributes:
      status: its exit status where it has failed.
      words: what has failed.
    """

    def __init__(self) -> None:
        self.status: int | None = None
        self.words: str | None = None


_END = _End()


def join() -> None:
    """Joins the other processes of the run, where there are any; ``PROCESSES`` says which this one is.

    Nothing of JAX may have run. On the CPU collectives go by gloo, unless ``JAX_CPU_COLLECTIVES_IMPLEMENTATION`` says
    otherwise. JAX's preemption service is off: SIGTERM is the program's.

    Raises:
      RuntimeError: JAX has started, or the others are not there.
    """
    hosts = os.environ.pop(environment_variables.HOSTS, None)
    key = os.environ.pop(environment_variables.KEY, "")
    os.environ.pop(SECRET, None)  # for those who supervise
    if hosts is None:
        return
    count, index = int(hosts), int(os.environ.pop(environment_variables.HOST))
    address, own = os.environ.pop(environment_variables.COORDINATOR), os.environ.pop(environment_variables.ADDRESS)
    if count == 1:
        return
    if "JAX_CPU_COLLECTIVES_IMPLEMENTATION" not in os.environ:
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
        if own:
            jax_extend.backend.register_backend_factory("cpu", lambda: _cpu_client(own), fail_quietly=False)
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
        # Of itself it would listen at all addresses of the machine.
        coordinator_bind_address=address if address and is_local(address) else None,
        initialization_timeout=_LONG,
        heartbeat_timeout_seconds=_LONG,
        shutdown_timeout_seconds=_LONG,
    )
    PROGRESS.enter(STARTING)
    faulthandler.register(WHERE)
    if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _told_to_end)
    PROCESSES.join(count, index)
    STORE.key = MessageKey(bytes.fromhex(key))
    SHARED.begin()
    atexit.register(_leave)  # after JAX's, so that it comes before


def _cpu_client(address: str) -> Any:
    """JAX's, whose collectives come to this host by its address. Of themselves they take what its name means here,
    which is the loopback on many hosts."""
    return xla_bridge.make_cpu_client(_jax.make_gloo_tcp_collectives(client(), address))


def _told_to_end(number: int, frame: FrameType | None) -> None:
    """Leaves the end to what looks for it, at a step that is the same in all processes; else the program ends here."""
    if not PROGRESS.stops:
        raise SystemExit(128 + number)


def run_joined(program: Callable[[], int]) -> int:
    """Joins, and runs a program; where it fails, this process ends without waiting for the others, as JAX would.

    Args:
      program: returns its exit status, or raises; so does this.
    """
    join()
    try:
        status = program()
    except BaseException as error:
        _failed(_status(error), error_text(error))
        raise
    _failed(status, f"exit status {status}")
    return status


def _failed(status: int, what: str) -> None:
    # Where all stop together, they leave together.
    if status and PROCESSES.count > 1 and not PROGRESS.reached_stop():
        PROGRESS.enter(FAILING, what)
        _END.status, _END.words = status, what


def failure() -> str | None:
    """What the program has failed with, where it has."""
    return _END.words


def _status(error: BaseException) -> int:
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else int(error.code is not None)
    return 130 if isinstance(error, KeyboardInterrupt) else 1


def _leave() -> None:
    if _END.status is None:
        PROGRESS.enter(ENDED)
        return
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(_END.status)
