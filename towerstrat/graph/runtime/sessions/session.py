"""``tf.Session``: fetches and feeds of a run, the cache of its plans, and its state.

``run`` maps the structure of fetches to graph elements (``_Fetches``), takes the plan of (fetches, fed tensors) from
the session's cache, carries it out over the state store, and rebuilds the structure with numpy copies:

    session.run({"loss": loss, "step": [train_op]}, {x: batch})      with loss a tensor, train_op an operation

    elements    [loss, train_op], without repeats
    plan        of (elements, {x}); kept under that key, and made anew when the graph was rewired
    values      [2.5, None]      ->      {"loss": 2.5, "step": [None]}

>>> from towerstrat.graph.ir.tensor_conversion import constant
>>> with Graph().as_default(), Session() as session:
...     loss = constant([2.5])
...     session.run({"loss": loss, "step": [loss.op]})
{'loss': array([2.5], dtype=float32), 'step': [None]}

In front of the plain way stand, in this order: towers that the program wrote by hand, which are run side by side on a
copy of the graph (``device_towers``); initial values that the processes of a cluster share (``wait_for_values``); and
steps that have already run ahead (``steps_ahead``). Options or metadata turn the last one off for their run.

The lock is held during a run. Code outside of runs takes the values of variables from ``state``, which first undoes the
steps that the caller has not seen.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from typing import Any, Never, TypeVar

import jax
import numpy as np

from towerstrat.errors import AbortedError, UnsupportedError
from towerstrat.graph.ir import nest
from towerstrat.graph.ir.argument_types import Fetches
from towerstrat.graph.ir.composite_values import Fetchable
from towerstrat.graph.ir.context_stacks import SESSIONS, SessionLike
from towerstrat.graph.ir.graph import Graph, global_graph
from towerstrat.graph.ir.graph_elements import Operation, Reference, Tensor
from towerstrat.graph.ir.shard_operations import ShardTensor
from towerstrat.graph.ir.state import StateStore
from towerstrat.graph.ir.types import HostArray, resource, string
from towerstrat.graph.ir.uneven_shards import UnevenShards
from towerstrat.graph.lowering.lowering_errors import DifferentShapes, uninitialized
from towerstrat.graph.runtime.collective.gradient_mean_stage import share_values, wait_for_values
from towerstrat.graph.runtime.loops.steps_ahead import Limit, SpeculativeSteps
from towerstrat.graph.runtime.plans.plan import Plan
from towerstrat.graph.runtime.plans.runner import Cancellable, Run, Runner
from towerstrat.graph.runtime.plans.server_state import SERVERS
from towerstrat.graph.runtime.programs.program_cache import to_host
from towerstrat.graph.runtime.sessions import all_operations  # noqa: F401  (registers all that a session can run)
from towerstrat.graph.runtime.sessions.device_towers import SideBySide, side_by_side
from towerstrat.graph.runtime.sessions.feeds import fed_array, feed_pairs
from towerstrat.graph.runtime.sessions.fetch_conversions import Joined, conversion_of
from towerstrat.graph.runtime.sessions.run_profile import Span, describe_spans, trace_stages
from towerstrat.graph.runtime.sessions.session_config import check_callable, check_config, check_options
from towerstrat.graph.runtime.sessions.stage_table import plan_of
from towerstrat.graph.variables.string_variables import READS
from towerstrat.graph.variables.variables import Variable
from towerstrat.hosts import shared_seeds
from towerstrat.hosts.heartbeat import PROGRESS
from towerstrat.hosts.process_index import PROCESSES
from towerstrat.platform import messages
from towerstrat.platform.accounts import ACCOUNTS, RUNNING
from towerstrat.platform.addresses import is_remote, take_for_here, taken_for_here
from towerstrat.platform.deadlines import DEADLINE
from towerstrat.platform.local import SessionDevice

T = TypeVar("T")


def is_between_graph_target(target: str | bytes | None) -> bool:
    """Whether a target is of a cluster of this program's processes; if so, they train between-graph from now on."""
    server = SERVERS.at(target)
    connected = PROCESSES.count > 1 and (is_remote(target) if server is None else server.meets)
    if connected:
        shared_seeds.part()
    return connected


class _Fetches:
    """A nested structure of fetches, flattened to graph elements without repeats, and its inverse ``build``."""

    def __init__(self, graph: Graph, fetches: Fetches):
        self.elements: list[Tensor | Operation] = []
        self._places: dict[Tensor | Operation, int] = {}
        self._build = self._expand(graph, fetches)

    def _expand(self, graph: Graph, fetch: Any) -> Joined:
        if isinstance(fetch, Fetchable) and not isinstance(fetch, Variable):
            return self._join(graph, *fetch._fetch_parts())
        if fetch is None:
            raise TypeError("Fetch argument None has invalid type <class 'NoneType'>.")
        if isinstance(fetch, Mapping):
            return partial(_entries, fetch.__class__, {k: self._expand(graph, f) for k, f in fetch.items()})
        if nest.is_sequence(fetch):
            builders = [self._expand(graph, f) for f in nest.children(fetch)]
            return lambda values: nest.rebuild(fetch, [b(values) for b in builders])
        conversion = conversion_of(fetch)
        if conversion is not None:
            return self._join(graph, *conversion.fetch(fetch))
        try:
            element: Tensor | Operation = graph.as_graph_element(fetch)
        except (KeyError, ValueError, TypeError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"Fetch argument {fetch!r} cannot be fetched. {error}") from None
        if not graph.is_fetchable(element):
            raise ValueError(f"Operation {element!r} has been marked as not fetchable.")
        element = graph.own(element) if isinstance(element, Tensor) else graph.own_operation(element)
        op = element if isinstance(element, Operation) else element.op
        if op.block is not graph.root:
            raise ValueError(
                f"{element!r} (created at {op.line}) was made inside {op.block.what} and has no value outside of it. "
                "Return it from there instead."
            )
        if isinstance(element, Tensor) and element.varies:
            raise ValueError(
                f"{element!r} (created at {op.line}) has a value on every tower. Fetch "
                "distribution.unwrap(...) for all of them, or reduce them to one."
            )
        index = self._places.setdefault(element, len(self.elements))
        if index == len(self.elements):
            self.elements.append(element)
        return lambda values: values[index]

    def _join(self, graph: Graph, parts: Sequence[Any], join: Joined) -> Joined:
        builders = [self._expand(graph, p) for p in parts]
        return lambda values: join([b(values) for b in builders])

    def build(self, values: list[Any]) -> Any:
        return self._build(values)


def _entries(kind: type[Any], builders: Mapping[Any, Joined], values: list[Any]) -> Any:
    """A fetched dictionary of type ``kind``, in its own order: keys need not sort."""
    result = kind()
    for key, build in builders.items():
        result[key] = build(values)
    return result


class BaseSession(Runner):
    """Runs parts of a graph and keeps the values of its variables between runs.

    Args:
      target: "" or "local", or the target of a ``tf.train.Server`` of this process, whose sessions share variables. Any
        other address, "grpc://host:port", means the devices of this machine; anything else raises.
      graph: default the default graph.
      config: a ``ConfigProto``; what it cannot mean here raises by name.
    """

    def __init__(self, target: str = "", graph: Graph | None = None, config: messages.ConfigProto | None = None):
        server = SERVERS.at(target)
        super().__init__(server)
        if server is not None:
            server.take_in(self)
        elif is_remote(target) and PROCESSES.count == 1:
            taken_for_here(f"Session(target={target!r})")
        elif not is_remote(target) and target not in ("", "local", None, b""):
            raise UnsupportedError(
                f"Session(target={target!r}): expected '' for this machine, or an address, 'grpc://host:port'."
            )
        self._connected = is_between_graph_target(target)
        if config is not None:
            check_config(config)
        self._graph = graph if graph is not None else global_graph()
        if not isinstance(self._graph, Graph):
            raise TypeError(f"graph must be a tf.Graph, got {type(graph).__name__}.")
        self._config = config
        self._timeout = 0 if config is None else config.operation_timeout_in_ms
        self._plans: dict[Hashable, tuple[int, _Fetches, Plan, SideBySide | None]] = {}
        self._entered: ExitStack | None = None
        self._aborted = False
        self.ahead: SpeculativeSteps | None = None

    # ---- what it is ------------------------------------------------------------------------------------------

    @property
    def graph(self) -> Graph:
        return self._graph

    @property
    def graph_def(self) -> messages.GraphDef:
        """The graph as a message, see ``Graph.as_graph_def``."""
        return self._graph.as_graph_def(add_shapes=True)

    @property
    def state(self) -> StateStore:
        """The state store, as it is after the runs that the caller has seen."""
        self.undo_steps_ahead()
        if self.server is not None:
            with self.lock:
                self.server.entered(self)
        return self._store

    def undo_steps_ahead(self) -> None:
        """Undo the steps that ran ahead of the caller."""
        if self.ahead is not None:
            self.ahead.note_use()

    def run_ahead(self, limit: Limit) -> None:
        """Let several steps run at once from now on, where the same fetches are run again and again.

        Args:
          limit: (state) -> how many runs, the next one included, may pass before the session is used otherwise; None:
            nobody knows. Called while the session's lock is held.
        """
        if PROCESSES.count == 1:  # How far to run ahead is a matter of time, and must be the same in all processes.
            self.ahead = SpeculativeSteps(self, limit)

    @property
    def meets(self) -> bool:
        """Whether this is a session of a cluster whose processes train between-graph, each with a graph of its own."""
        return self._connected and not PROCESSES.in_lockstep

    def step_back(self) -> bool:
        """Restore the state and the iterator position before the last run, where that was a step that ran ahead.

        Returns:
          Whether it is so now; False: nothing has changed, the state before the run is not kept.
        """
        return self.ahead is not None and self.ahead.step_back()

    def fetched_operations(self, fetches: Fetches) -> list[Operation]:
        """The operations of the fetched elements. Raises TypeError or ValueError as ``run`` does."""
        return [e if isinstance(e, Operation) else e.op for e in _Fetches(self._graph, fetches).elements]

    def values_in_run(
        self, tensors: Sequence[Tensor], fetches: Fetches, feed_dict: Mapping[Any, Any] | None
    ) -> list[HostArray]:
        """Run ``fetches`` for their effects, and return the values of further tensors in this run.

        Returns:
          An array for each tensor, ``[axis size, ...]`` of a varying one, padded where its shape differs by tower.
        """
        with self.lock, jax.enable_x64(True):
            fed = self._feeds(feed_dict or {})
            fed_tensors = [t for t in fed if t.dtype is not resource]
            plan = plan_of(self._graph, [*_Fetches(self._graph, fetches).elements, *tensors], fed_tensors)

            def read(run: Run) -> list[HostArray]:
                run.raise_late_errors()
                values = [plan.value(t, run) for t in tensors]
                return [to_host(v.padded if isinstance(v, UnevenShards) else v) for v in values]

            return self.execute_plan(plan.stages, fed, read)

    def begin_together(self) -> None:
        """Broadcast the first process's variables, where processes train between-graph. All of them call it."""
        if self.meets:
            with self.lock, jax.enable_x64(True):
                share_values(self, self._graph)

    @property
    def sess_str(self) -> str:
        return ""

    def list_devices(self) -> list[SessionDevice]:
        """The devices that a run may use."""
        return [SessionDevice(device) for device in jax.devices()]

    def as_default(self) -> AbstractContextManager[SessionLike]:
        """A context manager inside which ``Tensor.eval`` and ``Operation.run`` use this session."""
        return SESSIONS.entered(self)

    def close(self) -> None:
        """Free the state, and end all waiting for queues. Closing twice is fine."""
        if self.server is not None:
            self.undo_steps_ahead()
        self.closed = True
        for waited in list(self._resources.values()):
            if isinstance(waited, Cancellable):
                waited.cancel()
        for waited in [] if self.server is None else list(self.server.resources.values()):
            if isinstance(waited, Cancellable):
                waited.wake()
        self._store = StateStore()
        self.ahead = None
        self._plans.clear()
        self._resources.clear()
        self.positions.clear()

    def abort(self) -> None:
        """Close the session because its server was reset; later runs raise AbortedError."""
        self.ahead = None
        self._aborted = True
        self.close()

    # ---- running ---------------------------------------------------------------------------------------------

    def run(
        self, fetches: Fetches, feed_dict: Mapping[Any, Any] | None = None, options: messages.RunOptions | None = None,
        run_metadata: messages.RunMetadata | None = None,
    ) -> Any:  # fmt: skip
        """Compute ``fetches``.

        Args:
          fetches: a tensor, operation, variable, name, or a nested structure of them.
          feed_dict: tensor (or its name) -> value that takes its place in this run.
          options: a ``RunOptions``; what it cannot mean here raises by name.
          run_metadata: a ``RunMetadata`` that takes what ``options`` asks for: with a ``trace_level`` the times of the
            run and its stages and the costs of its programs, with ``output_partition_graphs`` the graph.

        Returns:
          The structure of ``fetches`` with numpy values in it, None for operations. Values are copies.

        Raises:
          RuntimeError: the session is closed. TypeError, ValueError: fetches or feeds that cannot be.
          DeadlineExceededError: an operation of the host waited longer than options or configuration allow. What is
            on the device is not stopped.
          OpError: the run failed; the state is what it was before, but for the completed steps of a step loop and for
            what came before an operation of the host (py_func, a step loop) in the middle of the run.
        """
        return self._run_described(partial(self._run, fetches, feed_dict), options, run_metadata)

    def _run_described(
        self,
        run: Callable[..., T],
        options: messages.RunOptions | None = None,
        metadata: messages.RunMetadata | None = None,
    ) -> T:
        """Call ``run(spans=...)`` under the lock and a deadline, and fill the metadata that the options ask for."""
        if options is None and metadata is None:
            with self.lock, jax.enable_x64(True), ACCOUNTS.timed(RUNNING), DEADLINE.within(self._timeout):
                return run()
        check_options(options, metadata)
        if self.ahead is not None:
            self.ahead.pause()
        options = messages.RunOptions() if options is None else options
        tracing = metadata is not None and options.trace_level != messages.RunOptions.NO_TRACE
        spans: list[Span] = []
        start = time.time()
        with self.lock, jax.enable_x64(True), DEADLINE.within(options.timeout_in_ms or self._timeout):
            result = run(spans=spans if tracing else None)
        if metadata is not None:
            metadata.Clear()
        if tracing:
            describe_spans(metadata, start, time.time(), spans)
        if metadata is not None and options.output_partition_graphs:
            metadata.partition_graphs.add().CopyFrom(self._graph.as_graph_def())
        return result

    def _run(self, fetches: Fetches, feed_dict: Mapping[Any, Any] | None, spans: list[Span] | None = None) -> Any:
        self._check_open()
        if self._graph.is_empty:
            raise RuntimeError("The Session graph is empty. Add operations to the graph before calling run().")
        fed = self._feeds(feed_dict) if feed_dict else {}
        structure, plan, towers = self._plan(fetches, fed)
        if towers is None:
            return self._execute_plan(structure, plan, fed, spans)
        try:
            return self._execute_plan(structure, plan, {towers.input(t): value for t, value in fed.items()}, spans)
        except DifferentShapes:  # raised before anything ran
            structure, plan, _ = self._plan(fetches, fed, together=False)
            return self._execute_plan(structure, plan, fed, spans)

    def _check_open(self) -> None:
        if self._aborted:
            raise AbortedError(None, None, "The session is not found: its server was reset, make another one.")
        if self.closed:
            raise RuntimeError("Attempted to use a closed Session.")
        if self.server is not None:
            self.server.entered(self)

    def _execute_plan(
        self, structure: _Fetches, plan: Plan, fed: Mapping[Tensor, HostArray], spans: list[Span] | None = None
    ) -> Any:
        def read(run: Run) -> Any:
            run.raise_late_errors()
            return structure.build([self._fetch(f, plan, run) for f in structure.elements])

        if self.meets:
            wait_for_values(self, self._graph, plan.order)
        if plan.trains:
            ACCOUNTS.steps += 1
            if not plan.shared:
                PROGRESS.more(1)
        done = None if self.ahead is None else self.ahead.next(plan)
        if done is not None:
            return read(done)
        stages = plan.stages if self.ahead is None else self.ahead.stages(plan)
        stages = stages if spans is None else trace_stages(stages, spans)
        start = time.perf_counter()
        result = self.execute_plan(stages, fed, read)
        if self.ahead is not None:
            self.ahead.note_run(plan, time.perf_counter() - start)
        return result

    def _plan(
        self, fetches: Fetches, fed: Mapping[Tensor, HostArray], together: bool = True
    ) -> tuple[_Fetches, Plan, SideBySide | None]:
        """Look up or make (structure, plan, towers) of a run. ``together``: hand-written towers may run so."""
        fed_tensors = frozenset(t for t in fed if t.dtype is not resource)
        key = (_key(fetches), fed_tensors)
        try:
            entry = self._plans.get(key)
        except TypeError:
            _Fetches(self._graph, fetches)  # raises for the fetch that cannot be
            raise
        if entry is not None and entry[0] == self._graph.nodes.rewired and (together or entry[3] is None):
            return entry[1:]
        structure = _Fetches(self._graph, fetches)
        towers = side_by_side(self._graph, structure.elements, fed_tensors) if together else None
        if towers is None:
            plan = plan_of(self._graph, structure.elements, fed_tensors)
        else:
            structure.elements = [towers.of(element) for element in structure.elements]
            plan = plan_of(towers.graph, structure.elements, [towers.input(t) for t in fed_tensors])
        take_for_here({op.device for op in plan.order})
        self._plans[key] = (self._graph.nodes.rewired, structure, plan, towers)
        return structure, plan, towers

    def _feeds(self, feed_dict: Mapping[Any, Any]) -> dict[Tensor, HostArray]:
        if not isinstance(feed_dict, Mapping):
            raise TypeError(f"feed_dict must be a dictionary of tensors and values, got {feed_dict!r}.")
        result: dict[Tensor, HostArray] = {}
        for key, value in feed_pairs(feed_dict):
            try:
                tensor: Tensor = self._graph.as_graph_element(key, allow_operation=False)
            except (TypeError, ValueError, KeyError) as error:
                raise TypeError(f"Cannot interpret feed_dict key as Tensor: {error}") from None
            if not self._graph.is_feedable(tensor):
                raise ValueError(f"Tensor {tensor.name} may not be fed.")
            tensor = _placeholder_of(tensor)
            if tensor.op.block is not self._graph.root:
                raise ValueError(
                    f"{tensor!r} (created at {tensor.op.line}) was made inside {tensor.op.block.what}, where nothing "
                    "can be fed. Feed what enters there from outside."
                )
            if tensor.dtype is resource:
                reads = self._reads(tensor)
                result |= dict.fromkeys([tensor, *reads], fed_array(reads[0], value))
            else:
                result[tensor] = fed_array(tensor, value)
        return result

    def _reads(self, handle: Tensor) -> list[Tensor]:
        """The tensors that a value fed for a variable replaces: its reads.

        Raises:
          UnsupportedError: the variable is also read by rows, or inside of a loop or branch.
        """
        for op in handle._consumers:
            if (
                op.definition.reads
                and not op.definition.writes
                and (op.block is not self._graph.root or op.type not in (*READS, "VarIsInitializedOp"))
            ):
                raise UnsupportedError(
                    f"Variable {handle.name} cannot be fed: {op.name} (created at {op.line}) uses it by rows or inside "
                    "of a loop or branch. Call variable.load(value, session) before the run, or use a placeholder."
                )
        return [op.outputs[0] for op in handle._consumers if op.type in READS]

    def _fetch(self, element: Tensor | Operation, plan: Plan, run: Run) -> Any:
        if isinstance(element, Operation):
            return None
        if element.dtype is resource and element in run.static:
            value = run.static[element]
        elif element.dtype is resource:
            cell = element.op.attrs["cell"]
            value = self._store.get(cell)
            if value is None:
                raise uninitialized(cell, element.op)
            value = cell.joined(value)
        else:
            value = plan.value(element, run)
        array = np.array(value)
        if element.dtype is string or array.ndim:
            return array if array.ndim else array.item()
        return array[()]

    def make_callable(
        self, fetches: Fetches, feed_list: Sequence[Any] | None = None, accept_options: bool = False
    ) -> Callable[..., Any]:
        """A function of the values of ``feed_list`` that runs ``fetches``.

        Args:
          fetches: as of ``run``: a tensor, operation or structure of them.
          feed_list: the tensors whose values the function takes, in this order; None: no arguments.
          accept_options: the function takes ``options=`` and ``run_metadata=`` too, as ``run`` does.
        """
        keys = list(feed_list or ())

        def call(*values: Any, **described: Any) -> Any:
            if len(values) != len(keys):
                raise TypeError(f"Expected {len(keys)} values, one for each entry of feed_list, got {len(values)}.")
            if described and not accept_options:
                raise TypeError(f"Unexpected {sorted(described)}: make_callable(accept_options=True) takes them.")
            return self.run(fetches, dict(zip(keys, values, strict=True)), **described)

        return call

    def _make_callable_from_options(self, callable_options: messages.CallableOptions) -> Callable[..., list[Any]]:
        """A function of the values of ``feed`` that runs ``fetch`` and ``target``, and returns the fetched values.

        Args:
          callable_options: a ``CallableOptions``. A ``tensor_connection`` gives its ``to_tensor`` the value that its
            ``from_tensor`` has in the same run.

        Returns:
          A function that takes ``run_metadata`` too, as ``run`` does.

        Raises:
          TypeError: another kind of object. UnsupportedError: a field that cannot be meant here.
          KeyError, ValueError: there is nothing of a name, or it cannot be fed, fetched or connected.
        """
        graph, options = self._graph, callable_options
        check_callable(options)
        described = options.run_options if options.HasField("run_options") else None
        check_options(described, None)
        feeds: list[Tensor] = [graph.as_graph_element(name, allow_operation=False) for name in options.feed]
        connections = {
            _placeholder_of(graph.get_tensor_by_name(each.to_tensor)): graph.own(
                graph.get_tensor_by_name(each.from_tensor)
            )
            for each in options.tensor_connection
        }
        structure = _Fetches(graph, [list(options.fetch), list(options.target)])
        cached: list[tuple[int, Plan]] = []

        def run(values: Sequence[Any], spans: list[Span] | None = None) -> Any:
            self._check_open()
            if not cached or cached[0][0] != graph.nodes.rewired:
                cached[:] = [(graph.nodes.rewired, plan_of(graph, structure.elements, feeds, connections))]
            fed = self._feeds(dict(zip(feeds, values, strict=True)))
            return self._execute_plan(structure, cached[0][1], fed, spans)[0]

        def call(*values: Any, run_metadata: messages.RunMetadata | None = None) -> list[Any]:
            if len(values) != len(feeds):
                raise ValueError(f"Expected {len(feeds)} values, one for each feed, got {len(values)}.")
            fetched: list[Any] = self._run_described(partial(run, values), described, run_metadata)
            return fetched

        return call

    def partial_run(self, handle: object, fetches: object, feed_dict: object = None) -> Never:
        raise UnsupportedError("Session.partial_run is not supported; use one Session.run with all feeds.")

    def partial_run_setup(self, fetches: object, feeds: object = None) -> Never:
        raise UnsupportedError("Session.partial_run_setup is not supported; use one Session.run with all feeds.")


def _key(fetches: Fetches) -> Any:
    kind = type(fetches)
    if kind is Tensor or kind is Operation:
        return fetches
    if isinstance(fetches, list | tuple):
        return (kind, tuple([_key(f) for f in fetches]))
    if isinstance(fetches, Mapping):
        return (kind, tuple([(k, _key(v)) for k, v in fetches.items()]))
    conversion = conversion_of(fetches)
    if conversion is not None:
        # It may consist of other tensors by now.
        return (Reference(fetches), _key(conversion.fetch(fetches)[0]))
    if nest.is_sequence(fetches):
        return (kind, tuple([_key(f) for f in nest.children(fetches)]))
    return fetches


class Session(BaseSession):
    """A session that is also a context manager: inside it is the default session, its graph the default graph."""

    def __enter__(self) -> Session:
        if self._entered is not None:
            raise RuntimeError(
                "Session context managers are not re-entrant. Use `Session.as_default()` if you want to enter a "
                "session multiple times."
            )
        self._entered = ExitStack()
        self._entered.enter_context(self._graph.as_default())
        self._entered.enter_context(self.as_default())
        return self

    def __exit__(self, *exc: object) -> None:
        entered, self._entered = self._entered, None
        assert entered is not None
        entered.close()
        self.close()

    @staticmethod
    def reset(target: str, containers: Sequence[str] | None = None, config: messages.ConfigProto | None = None) -> None:
        """Drop the variables and the named resources of a server of this process, and end its sessions.

        Raises:
          UnsupportedError: ``target`` is no server of this process, or only some containers are to be reset.
        """
        server = SERVERS.at(target)
        if server is None:
            raise UnsupportedError(
                f"Session.reset({target!r}): expected the target of a tf.train.Server of this process. Else state "
                "lives in a session: close it."
            )
        if containers:
            raise UnsupportedError(
                f"Session.reset(containers={containers!r}): a server has one container. Leave them out."
            )
        server.reset()


class InteractiveSession(BaseSession):
    """A session that makes itself the default where it is created, until it is closed."""

    def __init__(self, target: str = "", graph: Graph | None = None, config: messages.ConfigProto | None = None):
        super().__init__(target, graph, config)
        self._entered = ExitStack()
        if graph is not None:
            self._entered.enter_context(self._graph.as_default())
        self._entered.enter_context(self.as_default())

    def close(self) -> None:
        super().close()
        if self._entered is not None:
            self._entered.close()
            self._entered = None


def _placeholder_of(tensor: Tensor) -> Tensor:
    """The tensor that a fed value replaces; of one tower's, the placeholder that only this tower has.

    Raises:
      ValueError: one tower's value of an operation that all of them compute.
    """
    if not isinstance(tensor, ShardTensor):
        return tensor
    if not tensor.op.definition.is_placeholder:
        raise ValueError(
            f"{tensor!r} (created at {tensor.op.line}) is what one tower has of a tensor that all of them compute: it "
            "cannot be fed for that tower alone. Make a placeholder outside, and pass it to the function of the towers."
        )
    return tensor.whole
