"""Functions of towers called once for each tower: the towers take turns, and meet at each ``merge_call``.

As in the original every tower has a thread. One runs at a time: the first up to its ``merge_call`` or its end, then the
second, and so on; then the function that they meet for is called, once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from typing import Any, NamedTuple

from towerstrat.graph.eager.context import context
from towerstrat.graph.ir import nest
from towerstrat.graph.ir.graph import Graph, get_default_graph
from towerstrat.graph.ir.graph_elements import Block, Operation, Tensor
from towerstrat.graph.ir.graph_scopes import VariableMaker
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.ir.shard_operations import AxisIndex, shard_of, shard_of_operation
from towerstrat.graph.ir.shard_traces import ShardTraces
from towerstrat.graph.ops.control.branches import region_is_uniform
from towerstrat.graph.scopes.variable_scope import get_variable_scope, variable_scope
from towerstrat.graph.tapes.gradient_tape import recorded_by
from towerstrat.graph.variables.variables import variable_creator_scope
from towerstrat.platform import logs
from towerstrat.platform.threads import handed_on
from towerstrat.towers.engine import tower_contexts
from towerstrat.towers.engine.engine import Engine
from towerstrat.towers.engine.shared_variable_creators import SharedVariables


class _RequestedStop(BaseException):
    """Raised in a tower that waits, where another one or the function that they meet for has failed."""


class LockstepEngine(Engine):
    """The interface of engines whose towers are called one by one.

    Attributes:
      hands_controls_on: whether what is made at a ``merge_call`` runs after the towers' control dependencies there.
      hands_tapes_on: whether the towers' tapes record what is executed at a ``merge_call``.
    """

    hands_controls_on = False
    hands_tapes_on = False


class _MergeRequest(NamedTuple):
    """What a tower says at a ``merge_call``."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    block: Block
    scope: str
    controls: list[Any]
    tapes: list[Any]


_SHARED = ("block", "axis", "trace", "running_index", "scopes")
"""Of a graph what is current in it, whichever the thread: each tower has its own."""


class _Scopes:
    """What is current in a graph for one tower, or for the caller of all.

    A tower begins with the caller's, but for control dependencies, which were each thread's own in the original.
    """

    def __init__(self, graph: Graph):
        self._graph = graph
        self._values: dict[str, Any] = {}
        self._maker: VariableMaker | None = None
        self.save()
        self._values["scopes"] = graph.scopes.for_thread()

    def save(self) -> None:
        self._values = {name: getattr(self._graph, name) for name in _SHARED}
        self._maker = self._graph.variable_scopes.maker

    def restore(self) -> None:
        for name, value in self._values.items():
            setattr(self._graph, name, value)
        self._graph.variable_scopes.maker = self._maker


class LockstepTower(tower_contexts.TowerContext):
    """The context of one of several towers whose functions are called one by one."""

    def __init__(self, run: TowerThreads, number: int):
        super().__init__(run.engine, number)
        self._run = run
        self._number = number

    @property
    def device(self) -> str:
        tower_contexts.require_tower_context(self)
        return self.distribution_strategy.worker_devices[self._number]

    def _merge_call(self, merge_fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return self._run.wait_for_merge(self._number, merge_fn, args, kwargs)


class _Tower:
    """One tower: its thread, and where it is.

    Attributes:
      meeting: what it waits for, None where it is done.
      result: what its function returned, or what the function of its last meeting did.
    """

    def __init__(self, number: int, scopes: _Scopes):
        self.number = number
        self.scopes = scopes
        self.turn = threading.Semaphore(0)
        self.meeting: _MergeRequest | None = None
        self.result: Any = None
        self.error: BaseException | None = None
        self.stopped = False
        self.thread: threading.Thread | None = None


class TowerThreads:
    """One call of a function for each tower.

    Args:
      engine: the towers' engine.
      places: the positions of the towers.
      fn: the function.
      args, kwargs: its arguments, for each tower.
      regroup: device -> value, as one value.
      select: (value, tower) -> the tower's part.
    """

    def __init__(
        self, engine: LockstepEngine, places: Sequence[AxisIndex], fn: Callable[..., Any], args: Sequence[Any],
        kwargs: Sequence[Any], regroup: Callable[[Sequence[Any]], Any], select: Callable[[Any, int], Any],
    ):  # fmt: skip
        self.engine = engine
        self.graph = graph = get_default_graph()
        self._fn, self._args, self._kwargs = fn, args, kwargs
        self._regroup, self._select = regroup, select
        eagerly = graph.executing_eagerly
        graph.has_shard_operations = not eagerly
        self._places = places
        self._traces = None if eagerly else ShardTraces(graph, places[0].axis, places)
        self._block = graph.block
        self._axis = None if eagerly else places[0].axis
        self._caller = _Scopes(graph)
        self._caller.save()
        self._towers = [_Tower(k, _Scopes(graph)) for k in range(len(places))]
        self._variables = SharedVariables()
        self._back = threading.Semaphore(0)
        self._take = handed_on()

    # ---- in the caller's thread ------------------------------------------------------------------------------

    def run(self) -> Any:
        """The towers' results, regrouped."""
        try:
            while True:
                for tower in self._towers:
                    self._give_turn(tower)
                if self._traces is not None:
                    self._traces.meet()
                meetings = [tower.meeting for tower in self._towers]
                if all(m is None for m in meetings):
                    break
                reached = [m for m in meetings if m is not None]
                if len(reached) < len(meetings) or any(m.block is not reached[0].block for m in reached):
                    raise RuntimeError(
                        f"Some {self.engine.word}s made a different number of tower_context().merge_call() calls."
                    )
                self._check_alike(reached[0].block)
                result = self._called(reached)
                for tower, meeting in zip(self._towers, reached, strict=True):
                    with self._recorded([meeting]):
                        tower.result = self._select(result, tower.number)
        finally:
            self._stop()
        if self._traces is not None and self._traces.first_difference is not None:
            logs.info(
                "The %ss do not all run the same operations: each runs its own. The first that differs: %s",
                self.engine.word, self._traces.first_difference,
            )  # fmt: skip
        return self._regroup([tower.result for tower in self._towers])

    def _give_turn(self, tower: _Tower) -> None:
        """Lets a tower run until its next meeting or its end. Raises what it raises."""
        self._caller.save()
        tower.scopes.restore()
        if tower.thread is None:
            tower.thread = threading.Thread(target=self._tower, args=(tower,), daemon=True)
            tower.thread.start()
        else:
            tower.turn.release()
        self._back.acquire()
        tower.scopes.save()
        self._caller.restore()
        if tower.error is not None:
            raise tower.error

    def _called(self, meetings: Sequence[_MergeRequest]) -> Any:
        """What the function that the towers meet for returns."""
        args = self._regroup([m.args for m in meetings])
        kwargs = self._regroup([m.kwargs for m in meetings])
        scope = meetings[0].scope
        graph = self.graph
        controls = list(dict.fromkeys(c for m in meetings for c in m.controls)) if self.engine.hands_controls_on else []
        with ExitStack() as stack:
            stack.enter_context(graph.within(meetings[0].block))
            stack.enter_context(graph.under(None))
            stack.enter_context(graph.name_scope(f"{scope}/" if scope else None))
            if controls:
                stack.enter_context(graph.control_dependencies(controls))
            stack.enter_context(self._recorded(meetings))
            stack.enter_context(tower_contexts.enter_cross_tower(self.engine))
            return meetings[0].function(self.engine.tower_view, *args, **kwargs)

    def _recorded(self, meetings: Sequence[_MergeRequest]) -> AbstractContextManager[None]:
        """Inside, the tapes of towers record what is executed, where they are to."""
        return recorded_by([tape for m in meetings for tape in m.tapes] if self.engine.hands_tapes_on else [])

    def _check_alike(self, block: Block) -> None:
        """Raises RuntimeError where towers may differ in whether they run a region in which they meet."""
        if block is not self._block and not region_is_uniform(self._block, block):
            word = self.engine.word
            raise RuntimeError(
                f"merge_call() inside {block.what} is not possible: its condition may differ between {word}s, some of "
                "which would wait for the others forever. Call it outside of the tf.cond or tf.while_loop, or make the "
                f"condition the same everywhere (reduce it first).\n  at: {block.line}"
            )

    def _stop(self) -> None:
        """Ends the towers that have not ended: those that wait, and one that an interrupt left running."""
        for tower in self._towers:
            if tower.thread is not None:
                tower.stopped = True
                tower.scopes.restore()
                tower.turn.release()
                tower.thread.join()
        self._caller.restore()

    # ---- in a tower's thread ---------------------------------------------------------------------------------

    def _tower(self, tower: _Tower) -> None:
        self._take()
        try:
            tower.result = self._in_context(tower.number)
        except _RequestedStop:
            pass
        except BaseException as error:
            tower.error = error
        tower.meeting = None
        self._back.release()

    def _in_context(self, number: int) -> Any:
        graph = self.graph
        scope = graph.scope_name
        own = f"{self.engine.word}_{number}" if number else ""
        if own:
            scope = f"{scope}/{own}" if scope else own
        with ExitStack() as stack:
            stack.enter_context(LockstepTower(self, number))
            stack.enter_context(graph.device(self.engine.worker_devices[number]))
            stack.enter_context(graph.name_scope(f"{scope}/" if scope else None))
            stack.enter_context(variable_scope(get_variable_scope(), reuse=number > 0))
            stack.enter_context(variable_creator_scope(self._variables.creator(number, own)))
            if self._traces is None:
                graph.running_index = self._places[number]
            else:
                stack.enter_context(graph.under(self._axis))
                graph.trace = self._traces.of_positions[number]
            try:
                return self._fn(*self._args[number], **self._kwargs[number])
            finally:
                graph.trace = graph.running_index = None

    def wait_for_merge(
        self, number: int, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Waits until all towers are here and the first one's function was called; this tower's part of its result.

        Raises:
          RuntimeError: inside of another function, or of a condition or loop in which not all towers are.
        """
        graph = self.graph
        current = get_default_graph()
        if current is not graph:
            raise RuntimeError(
                f"merge_call() inside {current.what} is not possible: the {self.engine.word}s meet in the function "
                "that they were called with. Call it outside of a tf.function that this one calls."
            )
        tower = self._towers[number]
        if tower.stopped:
            raise _RequestedStop
        controls = [c for s in graph.scopes.controls if s is not None for c in s.controls]
        tapes = list(context().tapes.active) if self._traces is None else []
        if self._traces is not None and graph.block is not self._block:
            self._check_alike(graph.block)
            self._traces.share(number, graph.block)
            of_tower = partial(_own, place=self._places[number])
            args, kwargs = nest.map_structure(of_tower, args), nest.map_structure(of_tower, kwargs)
        tower.meeting = _MergeRequest(function, args, kwargs, graph.block, graph.scope_name, controls, tapes)
        self._back.release()
        tower.turn.acquire()
        if tower.stopped:
            raise _RequestedStop
        return tower.result


def _own(value: Any, place: AxisIndex) -> Any:
    """A tower's own of a value that it made in a region, where the first tower's are those of all."""
    if isinstance(value, IndexedSlices):
        return IndexedSlices(_own(value.values, place), _own(value.indices, place), value.dense_shape)
    if isinstance(value, Tensor) and value.op.axis is place.axis:
        return shard_of(value, place)
    if isinstance(value, Operation) and value.axis is place.axis:
        return shard_of_operation(value, place)
    return value
