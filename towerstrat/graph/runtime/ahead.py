"""Several steps per return: a session that is run again and again does many steps at once, before they are asked for.

The values of each step are kept and handed out one run at a time. Any other use of the session finds the state after
the steps that were handed out: if there are more, the state is put back and those steps are run once more.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from towerstrat.errors import OpError, UnsupportedError
from towerstrat.graph.ir.state import Cell, StateStore
from towerstrat.graph.lowering.refusals import NeedsTrips
from towerstrat.graph.runtime.feeding import Chunk
from towerstrat.graph.runtime.lifted import Lifted, NotLifted
from towerstrat.graph.runtime.limits import LIMITS
from towerstrat.graph.runtime.plan import Plan
from towerstrat.graph.runtime.runs import Run, Runner
from towerstrat.graph.runtime.steps import NONE_BAD
from towerstrat.platform import logs

_MOST = 1024
"""Steps at once, where nobody says when the session is used next."""
_FIRST = 2
"""Steps at once before one was timed."""
_WASTE = 20
"""One step in so many may be run in vain, or once more."""

Limit = Callable[[StateStore], int | None]
"""(state) -> how many runs, the next included, may pass before the session is used otherwise; None: nobody knows."""


class _Begun:
    """Steps that were run at once.

    Attributes:
      run: with the values that are the same in each of them.
      before: the state that they have changed, as it was before them; None: there was no value.
      stacks: what each step gave, on the host.
      given: how many of the steps the caller has seen.
    """

    def __init__(self, lifted: Lifted, run: Run, chunk: Chunk, before: Mapping[Cell, Any], stacks: list[Any]):
        self.lifted = lifted
        self.run = run
        self.chunk = chunk
        self.before = before
        self.stacks = stacks
        self.given = 0

    @property
    def left(self) -> int:
        """How many of the steps the caller has not seen."""
        return self.chunk.steps - self.given

    def put_back(self) -> None:
        """Makes the state what it was before the steps."""
        store = self.run.store
        store.update({cell: value for cell, value in self.before.items() if value is not None})
        for cell in (c for c, value in self.before.items() if value is None):
            store.discard(cell)


class Ahead:
    """Runs the steps of one session ahead of its caller.

    Args:
      session: whose runs.
      limit: how many steps may be run at once.

    Attributes:
      returns: how often the device returned to the host for steps that ran ahead.
      served: how many runs there were, of steps that ran ahead and of others.
      wasted: how many steps were run once more, or in vain.
    """

    def __init__(self, session: Runner, limit: Limit):
        self._session = session
        self._limit = limit
        self._lifted: dict[Plan, Lifted | None] = {}
        self._last: Plan | None = None
        self._begun: _Begun | None = None
        self._plain = 0
        self._since = 0
        self._gap: int | None = None
        self.returns = self.served = self.wasted = 0

    def next(self, plan: Plan) -> Run | None:
        """The next run of a plan, if it has run already or runs now, with others; None: the caller runs it."""
        begun = self._begun
        if begun is None or not begun.left or plan is not self._last:
            seen = plan is self._last or self._lifted.get(plan) is not None
            if plan is not self._last:
                self.used()
            self._last = plan
            self._begun = begun = self._begin(plan) if seen else None
        self._since += 1
        self.served += 1
        if begun is None:
            return None
        begun.given += 1
        return begun.lifted.at(begun.run, begun.stacks, begun.given - 1)

    def used(self) -> None:
        """Says that the session is used otherwise: the state becomes that after the steps that the caller has seen."""
        begun, self._begun = self._begun, None
        if begun is not None and begun.left:
            self._gap = self._since
            self.wasted += begun.chunk.steps
            self._go_back(begun)
        self._since = 0

    def pause(self) -> None:
        """Says that the next run is to be a run of its own."""
        self.used()
        self._plain = 1

    def _go_back(self, begun: _Begun) -> None:
        """Runs the steps that the caller has seen once more, from the state before them."""
        chunk, lifted, run = begun.chunk, begun.lifted, begun.run
        begun.put_back()
        steps, chunk.steps = chunk.steps, begun.given
        try:
            program, inputs = lifted.program(run, lifted.programs, chunk, False, NONE_BAD)
            program(run.store, inputs)
        finally:
            chunk.steps = steps
            source = lifted.source(run)
            if source.lender is not None:
                source.lender.give_back(source)
            lifted.input.put_back(source, chunk, begun.given)

    # ---- running ahead -------------------------------------------------------------------------------------------

    def _begin(self, plan: Plan) -> _Begun | None:
        """Runs steps at once; None where one is all that should be, or can be."""
        if self._plain:
            self._plain -= 1
            return None
        lifted = self._lift(plan)
        most = self._most() if lifted is not None else 1
        if lifted is None or most < 2:
            return None
        run = Run(self._session, self._session._store, {}, {})
        try:
            return self._steps(lifted, lifted.known(run), most)
        except OpError:  # the run itself says what is wrong
            self._plain = _FIRST
            return None
        except (NotLifted, NeedsTrips, UnsupportedError) as why:
            self._refuse(plan, str(why))
            return None

    def _lift(self, plan: Plan) -> Lifted | None:
        if plan not in self._lifted:
            try:
                self._lifted[plan] = Lifted(plan)
            except NotLifted as why:
                self._refuse(plan, str(why))
        return self._lifted[plan]

    def _refuse(self, plan: Plan, why: str) -> None:
        self._lifted[plan] = None
        if plan.trains:
            logs.info("One step per return to the host: %s.", why)

    def _most(self) -> int:
        """How many steps to run at once: until the session is used otherwise, as far as that is known."""
        if LIMITS.steps_per_return is not None:
            return LIMITS.steps_per_return
        if self.wasted > _MOST + self.served // _WASTE:
            return 1
        limit = self._limit(self._session._store)
        most = _MOST if limit is None else limit
        if self._gap is not None and self._since < self._gap:
            return min(most, self._gap - self._since)
        return most if limit is not None else min(most, max(_FIRST, self._since))

    def _steps(self, lifted: Lifted, run: Run, most: int) -> _Begun | None:
        source, feeder, pace = lifted.source(run), lifted.input, lifted.pace
        if source.live:
            raise NotLifted("its data reads variables")
        room = pace.room(most, feeder.step_bytes(source) + lifted.step_bytes)
        if pace.seconds is None:
            pace.settle(0)
        fast = _FIRST if pace.seconds is None else int(LIMITS.return_seconds / pace.seconds)
        wanted = min(most, room, fast)
        if wanted < 2:
            return None
        chunk = feeder.take(source, wanted, wanted, room, _never)
        begun: _Begun | None = None
        try:
            begun = self._carry_out(lifted, run, chunk) if chunk.steps > 1 else None
        finally:
            if begun is None or chunk.error is not None:
                feeder.put_back(source, chunk, 0 if begun is None else chunk.steps)
                chunk.error = None
        if begun is not None:
            feeder.look_ahead(source, wanted, room, lambda steps: pace.idle)
            begun.stacks = [np.asarray(s) for s in begun.stacks]
        return begun

    def _carry_out(self, lifted: Lifted, run: Run, chunk: Chunk) -> _Begun | None:
        """The steps of a chunk; None, and the state as it was, where a check fails in one."""
        pace, store = lifted.pace, run.store
        pace.settle(1)
        full = chunk.steps == chunk.room and pace.worth_a_scan()
        program, inputs = lifted.program(run, lifted.programs, chunk, full, NONE_BAD)
        before = {cell: store.lend(cell) if cell in store else None for cell in program.written}
        start = time.perf_counter()
        made, record = program(store, inputs)
        pace.started(record, chunk.steps, start)
        begun = _Begun(lifted, run, chunk, before, made[: len(lifted.every)])
        if lifted.checked and program.faulty and int(made[-1]) >= 0:
            begun.put_back()
            self._plain = int(made[-1]) + 1
            return None
        self.returns += 1
        return begun


def _never(steps: int) -> bool:
    return False
