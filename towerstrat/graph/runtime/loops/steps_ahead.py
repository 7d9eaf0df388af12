"""Speculative steps: a session that is run again and again runs many steps in one program, before they are asked for.

A call of ``Session.run`` costs about 0.1 ms beside its program. Where the same plan has run before and takes its data
from an iterator, ``SpeculativeSteps.next`` runs up to ``_MOST`` further steps as a loop (``plan_as_step``), keeps the
values of each step, and hands them out one run at a time. The caller sees the values of single runs:

    session.run(train)    1 step                        a plan that trains is a loop body from its first run
    session.run(train)    runs steps 2, 3, hands out 2
    session.run(train)    hands out 3, no device work
    session.run(train)    runs steps 4, 5, 6, ...       as many as runs since the session was used otherwise

>>> import towerstrat.compat.v1 as tf
>>> with tf.Graph().as_default(), tf.Session() as session:
...     number = tf.data.make_one_shot_iterator(tf.data.Dataset.range(4)).get_next()
...     square = number * number
...     session.run_ahead(lambda state: None)
...     [int(session.run(square)) for _ in range(4)]
[0, 1, 4, 9]

How far to go is the least of what the caller says (``limit``, e.g. the steps until the next checkpoint), the memory for
input and results, ``LIMITS.return_seconds``, and the gap that preceded the last other use of the session;
``LIMITS.steps_per_return`` sets it.

Results are exact, not stale. Any other use of the session (``note_use``: another fetch, a read of a variable, a save)
must find the state after the steps that were handed out. So the state is copied before a batch of steps; if steps ran
that nobody has seen, the copy is put back, their input goes back to the iterator, and the steps that were handed out
are run once more (``go_back``), with the same bits. A check that fails in a step ends the speculation the same way:
then steps run one by one, and the failing one raises in the run that asks for it. Too many steps in vain turn
speculation off.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from towerstrat.errors import OpError, UnsupportedError
from towerstrat.graph.ir.graph_elements import Operation
from towerstrat.graph.ir.state import StateStore, StateVariable
from towerstrat.graph.ir.types import Array
from towerstrat.graph.lowering.lowering_errors import NeedsTripCount
from towerstrat.graph.runtime.loops.chunk_sizing import next_chunk
from towerstrat.graph.runtime.loops.input_chunks import Chunk, Source
from towerstrat.graph.runtime.loops.plan_as_step import NotAStep, PlanStep, stages_of_single_step
from towerstrat.graph.runtime.loops.step_program import NO_FAILED_STEP
from towerstrat.graph.runtime.plans.plan import Plan
from towerstrat.graph.runtime.plans.runner import Run, Runner, Stage
from towerstrat.graph.runtime.programs.device_program import Program
from towerstrat.graph.runtime.programs.limits import LIMITS
from towerstrat.platform import logs

_MOST = 1024
"""Most steps at once, where nobody says when the session is used otherwise."""
_FIRST = 2
"""Fewest steps at once."""
_SAVED = 1e-4
"""Seconds saved per step that runs ahead: the cost of ``Session.run`` beside its program."""
_PARTS = 4
_PART_SECONDS = 5e-3
"""Programs per batch of steps, none shorter than this: one runs while the one before is handed out."""
_TOLD = 64
"""Steps run one by one after a check failed ahead: one of them raises the error."""
_WASTE = 20
"""One step in so many may be wasted before speculation stops."""

Limit = Callable[[StateStore], int | None]
"""(state) -> how many runs, the next included, may pass before the session is used otherwise; None: nobody knows."""


class _Part:
    """The steps of one program, of those that run ahead.

    Attributes:
      chunk: their input.
      stacks: the values of each step: on the device, then on the host. bad: the first failed step, if any can fail.
    """

    def __init__(self, chunk: Chunk, stacks: list[Array], bad: Array | None):
        self.chunk = chunk
        self.stacks = stacks
        self.bad = bad


class _Steps:
    """Steps that run ahead, in parts: one part runs while the steps of the part before are handed out.

    Args:
      run: with the values that are the same in each step.
      most: the most steps there may be. length: of the scan of their programs, 0 for none.

    Attributes:
      before: a copy of the state that they write, as it was before them; None for a variable without a value.
      given: number of steps handed out to the caller.
    """

    def __init__(self, lifted: PlanStep, run: Run, most: int, length: int):
        self.lifted = lifted
        self.run = run
        self.left = most
        self.length = length
        self.parts: list[_Part] = []
        self.before: dict[StateVariable, Any] = {}
        self.given = 0
        self._several = most > 1
        self._handed = 0
        self._place = 0

    @property
    def known(self) -> int:
        """The number of steps that have been started so far."""
        return sum(part.chunk.steps for part in self.parts)

    def begin_part(self) -> bool:
        """Start the next part; False where no more steps may run, or there is no input for them."""
        source, feeder = self.lifted.source(self.run), self.lifted.input
        requested, room = next_chunk(self.left, self.length, 2)
        self.left -= requested
        if not requested:
            return False
        chunk = feeder.take(source, requested, requested, room, _never)
        lifted = self.lifted
        if chunk.steps == self.length and lifted.refuses(self.run, lifted.programs, lifted.pace, chunk):
            feeder.put_back(source, chunk, 0)
            self.left += requested
            self.length = lifted.pace.divide(requested, lifted.pace.fitting(chunk.size // chunk.steps))
            return self.begin_part()
        ran = 0
        try:
            for piece in self._pieces(chunk):
                self._run(piece)
                ran += piece.steps
        finally:
            if ran < chunk.steps or chunk.error is not None:
                feeder.put_back(source, chunk, ran)
        if chunk.steps < requested:
            self.left = 0
        else:
            feeder.look_ahead(
                source, *next_chunk(self.left or requested, self.length, 2), lambda s: self.lifted.pace.idle
            )
        return ran > 0

    def _pieces(self, chunk: Chunk) -> list[Chunk]:
        """The chunks of the programs that run a chunk's steps: itself if it has the scan's length, else pairs."""
        pieces = [chunk] if 0 < chunk.steps == self.length else chunk.pairs()
        for piece in pieces:
            piece.error = None
        return pieces

    def _run(self, chunk: Chunk) -> None:
        lifted = self.lifted
        lifted.pace.wait_until_at_most(1)
        program, outputs = self._carry_out(chunk)
        bad = outputs[-1] if lifted.checked and program.checks.can_fail else None
        self.parts.append(_Part(chunk, outputs[: len(lifted.per_step_outputs)], bad))

    def _carry_out(self, chunk: Chunk) -> tuple[Program, list[Array]]:
        lifted, store = self.lifted, self.run.store
        full = chunk.steps == self.length
        program, inputs = lifted.program(self.run, lifted.programs, chunk, full, NO_FAILED_STEP)
        if not self.before and self._several:  # of one step there is nothing to go back to
            present = [cell for cell in program.state.written if cell in store]
            # One by one: they may lie on different devices.
            self.before = dict.fromkeys(program.state.written) | {cell: jnp.copy(store.get(cell)) for cell in present}
        start = time.perf_counter()
        outputs, record = program(store, inputs)
        lifted.pace.note_start(record, chunk.steps, start)
        return program, outputs

    def next(self) -> Run | None:
        """Hand out the next step, as a run; None where there is none, or a check fails in its program."""
        if self._handed == len(self.parts):
            return None
        part = self.parts[self._handed]
        if not self._place:
            if self._handed == len(self.parts) - 1:
                self.begin_part()
            if part.stacks or part.bad is not None:
                # While it waits it learns how long the steps took.
                self.lifted.pace.wait_until_at_most(len(self.parts) - self._handed - 1)
            if part.bad is not None and int(part.bad) >= 0:
                return None
            part.stacks = [np.asarray(stack) for stack in part.stacks]
        run = self.lifted.at(self.run, part.stacks, self._place)
        self.given += 1
        self._place += 1
        if self._place == part.chunk.steps:
            self._handed, self._place = self._handed + 1, 0
        return run

    def take_back(self) -> bool:
        """Count the last step handed out as unseen again; False where the state before it is not kept."""
        if not self.before or not self.given:
            return False
        if not self._place:
            self._handed -= 1
            self._place = self.parts[self._handed].chunk.steps
        self.given -= 1
        self._place -= 1
        return True

    def go_back(self) -> int:
        """Restore the state after the steps that were handed out: the copy from before all, then these steps once more.

        Returns:
          The number of steps whose work was lost or is repeated, 0 where nothing had to be done.
        """
        if self.given == self.known:
            return 0
        store, feeder, source = self.run.store, self.lifted.input, self.lifted.source(self.run)
        store.update({cell: value for cell, value in self.before.items() if value is not None})
        for cell in (c for c, value in self.before.items() if value is None):
            store.discard(cell)
        if source.lender is not None:
            source.lender.return_to_source(source)
        for i in reversed(range(self._handed, len(self.parts))):
            feeder.put_back(source, self.parts[i].chunk, self._place if i == self._handed else 0)
        again = [part.chunk for part in self.parts[: self._handed]]
        if self._place:
            self.parts[self._handed].chunk.steps = self._place
            again.append(self.parts[self._handed].chunk)
        for chunk in again:
            for piece in self._pieces(chunk):
                self._carry_out(piece)
        return self.known


class _PlanRuns:
    """The runs of one plan in a session: its step as a body of a loop, its stages where it runs alone, its time.

    Attributes:
      plan: the plan.
      step: the plan as a step, once ``lift`` was asked for it; None where it cannot be one.
      seconds: the least time of a run by itself. The first one is not counted: it compiled.
    """

    def __init__(self, plan: Plan):
        self.plan = plan
        self.step: PlanStep | None = None
        self.seconds: float | None = None
        self._is_new = True
        self._ran = False
        self._single_stages: Sequence[Stage] | None = None
        self._said: set[str] = set()

    def lift(self) -> PlanStep | None:
        """The plan as a step of a loop; None where it cannot be one."""
        if self._is_new:
            try:
                self.step = PlanStep(self.plan)
            except NotAStep as why:
                self.refuse(str(why))
            self._is_new = False
        return self.step

    def refuse(self, why: str) -> None:
        """Run the plan's steps one by one from now on."""
        self.step = None
        self.say(why)

    def say(self, why: str) -> None:
        """Log, once, why the steps of a plan that trains return to the host."""
        if self.plan.trains and why not in self._said:
            self._said.add(why)
            logs.info("One step per return to the host: %s.", why)

    def stages(self) -> Sequence[Stage]:
        """The stages of a run by itself; a training step is a ``SingleStep`` where it can be."""
        if self._single_stages is None:
            try:
                self._single_stages = stages_of_single_step(self.plan) if self.plan.trains else self.plan.stages
            except NotAStep:
                self._single_stages = self.plan.stages
        return self._single_stages

    def note_run(self, seconds: float) -> None:
        """Note the seconds of a run by itself."""
        if self._ran:
            self.seconds = min(seconds, self.seconds or seconds)
        self._ran = True


class _PlanTable:
    """The plans of one session. Those of the same operations share steps, where the first one fetches more."""

    def __init__(self) -> None:
        self._runs: dict[Plan, _PlanRuns] = {}
        self._shared_runs: dict[Plan, _PlanRuns] = {}
        self._by_operations: dict[frozenset[Operation], list[Plan]] = {}

    def runs(self, plan: Plan) -> _PlanRuns:
        """The runs of a plan itself."""
        runs = self._runs.get(plan)
        if runs is None:
            runs = self._runs[plan] = _PlanRuns(plan)
        return runs

    def shared_runs(self, plan: Plan) -> _PlanRuns:
        """The runs of the first plan that came with the same operations, and fetches that include this plan's."""
        runs = self._shared_runs.get(plan)
        if runs is None:
            plans = self._by_operations.setdefault(frozenset(plan.order), [])
            first = next((p for p in plans if set(p.fetches).issuperset(plan.fetches)), plan)
            if first is plan:
                plans.append(plan)
            runs = self._shared_runs[plan] = self.runs(first)
        return runs


class _Horizon:
    """The bound of steps that run ahead: until the next other use of the session, as far as that is known.

    Args:
      limit: says how many steps may be run at once.
    """

    def __init__(self, limit: Limit):
        self._limit = limit
        self._single = 0
        """Number of the next runs that are one step by itself."""
        self._since = 0
        """Runs since the session was used otherwise."""
        self._gap: int | None = None
        """Runs before that use, where steps had run in vain."""

    def count_run(self) -> None:
        """Count a run."""
        self._since += 1

    def stop_for(self, runs: int) -> None:
        """Let the next runs be one step each."""
        self._single = runs

    def take_single(self) -> bool:
        """Whether the run that begins now is to be one step; counts it."""
        if self._single:
            self._single -= 1
            return True
        return False

    def end(self, used: bool, in_vain: int) -> None:
        """Note the end of a speculation.

        Args:
          used: somebody else needs the state; else a check has failed in a step.
          in_vain: number of steps whose work was lost or is repeated.
        """
        if in_vain and used:
            self._gap = self._since
        elif in_vain:
            self._single = _TOLD
        if used:
            self._since = 0

    def most(self, store: StateStore) -> int:
        """The number of steps to run at once."""
        limit = self._limit(store)
        most = _MOST if limit is None else limit
        if self._gap is not None and self._since < self._gap:
            return min(most, self._gap - self._since)
        return most if limit is not None else min(most, max(_FIRST, self._since))


class SpeculativeSteps:
    """Speculative execution of the steps of one session.

    Args:
      session: whose runs.
      limit: how many steps may be run at once.

    Attributes:
      returns: number of times that several steps were begun at once.
      served: number of runs asked for, of steps that ran ahead and of others.
      wasted: number of steps run in vain, or once more.
    """

    def __init__(self, session: Runner, limit: Limit):
        self._session = session
        self._plans = _PlanTable()
        self._horizon = _Horizon(limit)
        self._last: _PlanRuns | None = None
        self._begun: _Steps | None = None
        self.returns = self.served = self.wasted = 0

    def next(self, plan: Plan) -> Run | None:
        """The next run of a plan, if it ran ahead or is started now with others; None: the caller carries it out."""
        self.served += 1
        runs = self._plans.shared_runs(plan)
        result = self._hand_out() if runs is self._last else None
        if result is None:
            # A step of training is one of a loop from the first on, whose bits are the same however many run at once.
            repeats = runs.plan.trains or runs is self._last or runs.step is not None
            self._end(used=runs is not self._last)
            self._last = runs
            self._begun = self._begin(runs) if repeats else None
            result = self._hand_out()
        self._horizon.count_run()
        return result

    def stages(self, plan: Plan) -> Sequence[Stage]:
        """The stages of a run that the caller carries out; a training step is a ``SingleStep`` where it can be."""
        return self._plans.runs(plan).stages()

    def _hand_out(self) -> Run | None:
        try:
            run = None if self._begun is None else self._begun.next()
        except BaseException:
            self._end(used=False)
            raise
        if run is None:
            self._end(used=False)
        return run

    def note_run(self, plan: Plan, seconds: float) -> None:
        """Note the seconds of a run that the caller carried out."""
        self._plans.shared_runs(plan).note_run(seconds)

    def note_use(self) -> None:
        """Note another use of the session: the state becomes that after the steps that were handed out."""
        with self._session.lock, jax.enable_x64(True):
            self._end(used=True)

    def _end(self, used: bool) -> None:
        """End the speculation. ``used``: somebody else needs the state; else a check has failed in a step."""
        begun, self._begun = self._begun, None
        in_vain = 0 if begun is None else begun.go_back()
        self.wasted += in_vain
        self._horizon.end(used, in_vain)

    def step_back(self) -> bool:
        """Restore the state and the iterator position before the last run; False where these are not kept."""
        with self._session.lock, jax.enable_x64(True):
            if self._begun is None or not self._begun.take_back():
                return False
            self._end(used=True)
            return True

    def pause(self) -> None:
        """Go back to the handed-out steps, and let the next run be one by itself."""
        self.note_use()
        self._horizon.stop_for(1)

    # ---- running ahead -------------------------------------------------------------------------------------------

    def _begin(self, runs: _PlanRuns) -> _Steps | None:
        """Start several steps; None where only one should or can run."""
        if self._horizon.take_single():
            return None
        lifted, most = runs.lift(), self._most()
        if lifted is None or (most < 2 and not runs.plan.trains):
            return None
        run = Run(self._session, self._session._store, {}, {})
        try:
            return self._steps(runs, lifted, lifted.add_constants(run), most)
        except OpError:  # the run itself says what is wrong
            self._horizon.stop_for(_FIRST)
            return None
        except (NotAStep, NeedsTripCount, UnsupportedError) as why:
            runs.refuse(str(why))
            return None

    def _most(self) -> int:
        """The number of steps to run at once, 1 where too many have run in vain."""
        if LIMITS.steps_per_return is not None:
            return LIMITS.steps_per_return
        if self.wasted > _MOST + self.served // _WASTE:
            return 1
        return self._horizon.most(self._session._store)

    def _steps(self, runs: _PlanRuns, lifted: PlanStep, run: Run, most: int) -> _Steps | None:
        source, pace = lifted.source(run), lifted.pace
        if source.live:
            raise NotAStep("its data reads variables")
        pace.wait_until_at_most(0)
        lifted.seconds = lifted.seconds or pace.seconds or runs.seconds
        requested = 1 if lifted.seconds is None else self._together(runs, lifted, run, source, most)
        if requested < 2 and not runs.plan.trains:
            return None
        parts = max(1, min(_PARTS, int(requested * (lifted.seconds or 0.0) / _PART_SECONDS)))
        length = pace.divide(requested, max(2, -(-requested // parts))) if requested > 1 else 0
        begun = _Steps(lifted, run, requested, length)
        if not begun.begin_part():
            return None
        self.returns += requested > 1
        return begun

    def _together(self, runs: _PlanRuns, lifted: PlanStep, run: Run, source: Source, most: int) -> int:
        """The number of steps to run at once, at most ``most``: within memory and ``LIMITS.return_seconds``.

        1 where copying the state would cost more time than the steps save.
        """
        assert lifted.seconds is not None
        fitting = lifted.pace.fitting(lifted.input.step_bytes(source) + lifted.step_bytes)
        longest = min(_MOST, fitting, int(LIMITS.return_seconds / lifted.seconds))
        if most > 1 and lifted.copy_seconds(run.store) > longest * _SAVED:
            runs.say("to go back, more state would be kept than it saves time")
            return 1
        return max(1, min(most, longest))


def _never(steps: int) -> bool:
    return False
