"""Carrying out a plan over a state store: ``Run``, one run under way, and ``Runner``, the base of sessions.

A ``Runner`` owns the state (variables, random counters, counts of passes over datasets: all are state variables), the
iterator positions, and other resources. ``execute_plan`` makes a ``Run`` with the feeds as first values and runs the
stages:

    Run.begin              stage.run(run) for each stage; before a stage with effects it waits for pending checks
    read(run)              the fetches, while the last program may still be on the device
    Run.raise_late_errors  wait for the programs that check something; raise the first error

A stage is whatever has ``run``; it reads values and adds its own:

>>> class Square:
...     def run(self, run):
...         run.values["y"] = run.values["x"] ** 2
>>> Runner().execute_plan([Square()], {"x": 3}, lambda run: run.values["y"])
9

Programs are dispatched asynchronously, so a failed check is known only when somebody waits for the error record. With
``late=True`` nobody waits in this run: the next run, a read of the state, or ``raise_late_errors`` does. The state is
right all the same, since a program that fails a check writes nothing, and what is queued behind it takes the failure as
an input.

A stage in which several processes meet (``CollectiveStage``) must be told of a run that failed (``miss``): the other
processes wait in it, and have to raise as well instead of waiting for ever.

Errors leave through ``_translate_errors``: device failures become ResourceExhaustedError or InternalError that names
the variables whose donated buffers are gone.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar, runtime_checkable

import jax
import numpy as np

from towerstrat.errors import (
    FailedPreconditionError,
    InternalError,
    OpError,
    ResourceExhaustedError,
    UnsupportedError,
)
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.state import StateStore, StateVariable
from towerstrat.graph.ir.types import uint32
from towerstrat.graph.runtime.plans.server_state import ServedStore, ServerState
from towerstrat.hosts.collectives import COLLECTIVES
from towerstrat.hosts.process_index import PROCESSES
from towerstrat.platform.plain import State

Values = dict[Tensor, Any]
"""Tensor -> value: an array, or ``UnevenShards`` where shards have several shapes."""


class Stage(Protocol):
    """One part of a plan: reads values of tensors from the run, and adds those of its own."""

    def run(self, run: Run) -> None: ...


class EffectFreeStage:
    """A stage without effects: it may run before the checks of the stages before it are through."""


class CollectiveStage:
    """A stage that several processes carry out together; each takes part, even if its own run has failed elsewhere."""

    def run(self, run: Run) -> None:
        raise NotImplementedError

    def miss(self, run: Run, error: BaseException) -> None:
        """Take part in the round as a process that failed; called where the run failed in this stage or any other."""
        raise NotImplementedError


@runtime_checkable
class Cancellable(Protocol):
    """A resource of a session that threads may wait for."""

    def cancel(self) -> None:
        """End all waiting."""

    def wake(self) -> None:
        """End the waiting of sessions that are closed."""


class Run:
    """One run under way.

    Args:
      session: whose resources operations of the host use.
      store: the state.
      values: tensor -> value, so far; first those of the feeds.
      static: the feeds.

    Attributes:
      checks: callables that each wait for a program with checks, and return its error or None.
      error: the error that one of them returned.
      before: the run before, if its checks are pending: see ``Runner.execute_plan``.
      writes: the variables that the program under way writes, where the run leaves its checks to the next one.
      kept: values that stages leave for later stages or runs, by stage.
    """

    def __init__(
        self, session: Runner, store: StateStore, values: Values, static: Mapping[Tensor, Any],
        before: Run | None = None,
    ):  # fmt: skip
        self.session = session
        self.store = store
        self.values = values
        self.static = static
        self.checks: list[Callable[[], Exception | None]] = []
        self.error: Exception | None = None
        self.before = before
        self.writes: Container[StateVariable] = ()
        self.kept: dict[object, Any] = {}
        self._joint: list[CollectiveStage] = []

    def carry(self, stages: Sequence[Stage]) -> None:
        """Run stages one after the other. Raises InvalidArgumentError where a check in a device program failed."""
        self.begin(stages)
        self.raise_late_errors()

    def begin(self, stages: Sequence[Stage]) -> None:
        """Run the stages as ``carry`` does, but leave the checks of the last programs to
        ``raise_late_errors``."""
        if PROCESSES.count > 1:
            self._joint = [stage for stage in stages if isinstance(stage, CollectiveStage)]
        try:
            for stage in stages:
                if self.checks and not isinstance(stage, EffectFreeStage):
                    self.raise_late_errors()
                stage.run(self)
        except BaseException as error:
            self._tell(error)
            raise

    def raise_late_errors(self) -> None:
        """Wait for the programs under way that check something. Raises InvalidArgumentError where one failed.

        Interrupted, it may be called again.
        """
        while self.checks:
            self.error = self.checks[0]()
            del self.checks[0]
            if self.error is not None:
                self.checks.clear()
                self._tell(self.error)
                raise self.error

    def _tell(self, error: BaseException) -> None:
        joint, self._joint = self._joint, []
        for stage in joint:
            stage.miss(self, error)

    def raise_earlier_errors(self) -> None:
        """Wait for the checks of the run before. Raises InvalidArgumentError where one failed."""
        if self.before is not None:
            self.before.raise_late_errors()
            self.before = None


T = TypeVar("T")


class PendingIteratorStates:
    """Checkpointed iterator states that wait for their iterators to be made, by name.

    An iterator that begins after an element was taken, or after a restored variable was written, starts at the
    beginning: it takes the rest of its state but not its ``place``.

    Attributes:
      states: by name.
      open: whether no element was taken since they came.
    """

    def __init__(self, store: StateStore) -> None:
        self.states: dict[str, State] = {}
        self.open = False
        self._store = store
        self._restored_count = 0

    def expect(self, states: Mapping[str, State], restored: Iterable[StateVariable]) -> None:
        """Replace the waiting states. ``restored``: the variables that were restored with them."""
        self.states = dict(states)
        self.open = True
        self._store.unwritten_since_restore = set(restored)
        self._restored_count = len(self._store.unwritten_since_restore)

    def take(self, name: str, always: bool) -> State | None:
        """Pop the state of an iterator that begins, if one waits. ``always``: with its place in any case."""
        state = self.states.pop(name, None)
        unwritten = len(self._store.unwritten_since_restore) == self._restored_count
        if state is None or always or (self.open and unwritten):
            return state
        return {key: value for key, value in state.items() if key != "place"}


class Runner:
    """Owner of a state store, iterator positions, and resources that can be made again, such as programs of step loops.

    All that a program needs to resume is in ``state`` (variables, random counters, counts of passes over datasets:
    state variables, each with a name) and in ``positions``.

    Args:
      server: whose variables and named resources it has; None: its own.

    Attributes:
      runs: number of runs so far.
      lock: held during a run.
      closed: whether there are no further runs.
      shared: names of the variables that were broadcast from the first process.
      remainder_foreseen: whether a run of a step loop will come that makes fewer steps than the others.
    """

    what = "session"

    @property
    def meets(self) -> bool:
        """Whether this is a session of a cluster whose processes train together, each with a session of its own."""
        return False

    def __init__(self, server: ServerState | None = None) -> None:
        self.server = server
        self.lock = threading.RLock() if server is None else server.lock
        self.closed = False
        self._store = StateStore() if server is None else ServedStore(server)
        self._resources: dict[Hashable, Any] = {}
        self._counters: dict[str, StateVariable] = {}
        self.waiting = PendingIteratorStates(self._store)
        self.positions: dict[str, Any] = {}
        """Name -> iterator, with its position in the data. It puts back elements that were taken ahead itself."""
        self.runs = 0
        self.shared: set[str] = set()
        self.remainder_foreseen = False
        self._late: tuple[Run, int] | None = None
        """(run whose checks are pending, number of the thread that began it), or None."""

    @contextmanager
    def unlocked(self) -> Iterator[None]:
        """Release this thread's hold on the lock inside, so that threads it waits for can run."""
        lock: Any = self.lock
        # The methods by which threading.Condition gives up a lock that was acquired several times.
        saved = lock._release_save() if lock._is_owned() else None
        try:
            yield
        finally:
            if saved is not None:
                lock._acquire_restore(saved)

    @property
    def state(self) -> StateStore:
        """The values of variables."""
        self.raise_late_errors()
        return self._store

    def value(self, cell: StateVariable) -> Any:
        """``state.get(cell)``, without waiting for a run that does not write the variable."""
        late = self._late
        if late is not None and cell in late[0].writes:
            self.raise_late_errors()
        return self._store.get(cell)

    def raise_late_errors(self) -> None:
        """Wait for the checks of the run that was left ``late`` by this thread, if there is one: see ``execute_plan``.

        Raises:
          InvalidArgumentError: one failed. The next caller finds the state after it, and no error.
        """
        late = self._late
        if late is None or late[1] != threading.get_ident():
            return
        with self.lock, self._translate_errors():
            try:
                late[0].raise_late_errors()
            except Exception:
                self._late = None
                raise
            self._late = None

    def count(self, name: str) -> int:
        """The number of earlier calls with this name, a counter that is saved with the state."""
        if name not in self._counters:
            self._counters[name] = StateVariable(name, uint32, (), default=np.uint32(0))
        cell = self._counters[name]
        count = int(self._store.get(cell))
        self._store.update({cell: np.uint32(count + 1)})
        return count

    def set_count(self, name: str, number: int) -> None:
        """Set the number of calls of ``count``."""
        self._store.update({self._counters[name]: np.uint32(number)})

    def start_counts_again(self, prefix: str) -> None:
        """Reset the counters whose names begin with ``prefix``."""
        for name in [n for n in self._counters if n.startswith(prefix)]:
            self._store.discard(self._counters.pop(name))
        for name in [n for n in self._store.pending_restores if n.startswith(prefix)]:
            del self._store.pending_restores[name]

    def counts(self) -> dict[str, int]:
        """The counters of ``count``, by name."""
        return {name: int(self._store.get(cell)) for name, cell in self._counters.items()}

    def position(self, name: str, make: Callable[[], T]) -> T:
        """The iterator of this name, with its position in the data; made when first asked for."""
        if name not in self.positions:
            self.positions[name] = make()
        iterator: T = self.positions[name]
        return iterator

    def resource(self, key: Hashable, make: Callable[[], T]) -> T:
        """The resource of ``key``, made when first asked for."""
        if key not in self._resources:
            self._resources[key] = make()
        value: T = self._resources[key]
        return value

    def named_resource(self, key: Hashable, make: Callable[[], T]) -> T:
        """The resource of a key that names it; the sessions of one server share it."""
        if self.server is None:
            return self.resource(key, make)
        if key not in self.server.resources:
            self.server.resources[key] = make()
        value: T = self.server.resources[key]
        return value

    def execute_plan(
        self, stages: Sequence[Stage], fed: Mapping[Tensor, Any], read: Callable[[Run], T],
        store: StateStore | None = None, late: bool = False,
    ) -> T:  # fmt: skip
        """Run a plan's stages, and return ``read(run)``.

        Args:
          stages: of a plan, in order.
          fed: the values of tensors that are fed.
          read: may be called while the last device program is under way, or has failed: see
            ``Run.raise_late_errors``.
          store: whose state is used, if not this one's.
          late: leave this run's checks to the next run, a read of the state, or ``raise_late_errors``. The state is
            right at any time: after a check has failed, no program changes it.

        Raises:
          OpError: the run failed, or the one before, whose checks were late. The state is what it was before, but for
            the completed steps of a step loop and for what came before an operation of the host in the middle of the
            run.
        """
        if not late:
            self.raise_late_errors()
        thread = threading.get_ident()
        late = late and (self._late is None or self._late[1] == thread)
        before = None
        if late:
            before, self._late = self._late, None
        run = Run(self, self._store if store is None else store, dict(fed), fed, None if before is None else before[0])
        self.runs += 1
        with self._translate_errors():
            try:
                run.begin(stages)
                result = read(run)
                run.raise_earlier_errors()
                if late:
                    self._late = (run, thread)
                else:
                    run.raise_late_errors()
                return result
            except BaseException:
                if run.before is not None and run.before.checks:
                    self._late = before
                raise

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Translate errors of the device and of JAX to ``tf.errors``, with a note on variables that were lost."""
        try:
            yield
        except jax.errors.JaxRuntimeError as error:
            raise self._device_failure(error) from error
        except MemoryError as error:
            message = f"Out of memory in run {self.runs} of this {self.what}: {error}"
            raise ResourceExhaustedError(None, None, message) from error
        except (OpError, UnsupportedError) as error:
            # JAX notes that it has hidden its own frames, which says nothing about the program.
            error.__notes__ = [n for n in getattr(error, "__notes__", ()) if "JAX_TRACEBACK_FILTERING" not in n]
            if self._store.lost is not None and isinstance(error, FailedPreconditionError):
                error.add_note(self._store.lost)
            raise

    def _device_failure(self, error: Exception) -> OpError:
        """Discard variables whose donated buffers are gone in a device failure; return the error, which names them."""
        gone = [cell for cell in self._store if self._store.is_gone(cell)]
        for cell in gone:
            self._store.discard(cell)
        message = f"The device failed in run {self.runs} of this {self.what}: {error}"
        if (refusal := COLLECTIVES.refusal()) is not None:
            message = f"Another process did not go on with run {self.runs} of this {self.what}. {refusal}"
        if gone:
            names = ", ".join(sorted(cell.name for cell in gone)[:5]) + (", ..." if len(gone) > 5 else "")
            self._store.lost = (
                f"The values of {len(gone)} variables ({names}) were lost when the device failed in run {self.runs}; "
                "initialize or restore them."
            )
            message += f" {self._store.lost}"
        kind = ResourceExhaustedError if "RESOURCE_EXHAUSTED" in str(error) else InternalError
        return kind(None, None, message)
