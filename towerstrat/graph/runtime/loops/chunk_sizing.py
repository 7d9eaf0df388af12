"""How many steps of a loop go into one device program, and which programs are under way."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable

import jax

from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.runtime.loops.input_chunks import PIECE_SECONDS
from towerstrat.graph.runtime.loops.loop_bodies import differences
from towerstrat.graph.runtime.programs.device_program import Program
from towerstrat.graph.runtime.programs.limits import LIMITS
from towerstrat.hosts.consensus import AGREEMENT
from towerstrat.platform import logs

_PARTS = 32
"""A program may start early, with part of its input: no smaller part of a run than one in so many."""


_PADDING = 16
"""Times what compilers lay out a step's input in, at most: less than the budget by so much is not looked at."""
_LOOP_BYTES = 4 << 10
"""What two loops of a body may differ by besides, in counters and pointers."""
_LONG = 0.5
"""Seconds of a program from which on an interrupt should not have to wait for its end to be heard."""
_SHORTEST_NAP, _LONGEST_NAP = 1e-4, 0.05


class ChunkScheduler:
    """The programs of one loop in one session: their sizes, from bytes and from the time that steps took so far.

    Args:
      axis: along which the loop runs, None: on one device.

    Attributes:
      seconds: of a step, None before one was timed.
      shared: whether several processes run the programs together, which so have to be of the same sizes in all of them:
        the first time that a step took in the first process is what all go by.
      length: of the scan that a step loop has compiled, 0 before there is one.
    """

    def __init__(self, axis: Axis | None):
        self.device = jax.local_devices()[0] if axis is None else axis.devices[0]
        self._devices = 1 if axis is None else axis.most
        self.length = 0
        self._asked = 0
        self._weighed = self._compared = 0
        self._step_bytes = 1
        self._told = False
        self.shared = axis is not None and axis.spans
        self.seconds: float | None = None
        self._under_way: deque[tuple[jax.Array, int, float]] = deque()
        self._finished = 0.0

    # ---- sizes -------------------------------------------------------------------------------------------------

    def fitting(self, step_bytes: int) -> int:
        """How many steps' input fits into the budget; at least two, the fewest that a program has room for."""
        return max(2, LIMITS.input_of(self.device) // max(self._step_bytes, step_bytes))

    def refuses(self, what: str, steps: int, input_bytes: int, program: Callable[[int], Program]) -> bool:
        """Whether a scan of so many steps is not to run; ``divide`` finds another length then, or none.

        That is where it needs more than the budget for its input, as its compiler lays it out; and, where
        ``LIMITS.compare_loops`` says so, where the compiler has made something else of a step than in the told loop.

        Args:
          what: the loop, in words.
          input_bytes: of all the steps, as the host has it.
          program: (steps) -> the compiled scan, or for other numbers of steps the told loop with room for so many.
        """
        if steps <= 2 or not (self._too_large(steps, input_bytes, program) or self._differs(what, steps, program)):
            return False
        self.length = 0
        return True

    def _too_large(self, steps: int, input_bytes: int, program: Callable[[int], Program]) -> bool:
        if input_bytes <= self._weighed:
            return False
        self._weighed = input_bytes
        budget = LIMITS.input_of(self.device)
        if input_bytes * _PADDING <= budget:
            return False
        whole = program(steps).memory * self._devices
        if whole <= budget:
            return False
        # What two loops of one body need differs by their input.
        self._step_bytes = max(1, (whole - program(2).memory * self._devices - _LOOP_BYTES) // (steps - 2))
        if steps <= self.fitting(self._step_bytes):
            return False
        self._weighed = 0
        return True

    def _differs(self, what: str, steps: int, program: Callable[[int], Program]) -> bool:
        if not LIMITS.compare_loops or steps == self._compared:
            return False
        self._compared = steps
        scan, told = program(steps).compiled, program(2).compiled
        found = differences(scan, told) if scan is not None and told is not None else []
        self._told = bool(found)
        if found:
            logs.warning(
                "%s: the compiler makes something else of a step in a scan of %d than in a loop of a number that it is "
                "told, so all steps go through the latter. Please report it, with the first of %d differences: %s",
                what, steps, len(found), found[0],
            )  # fmt: skip
        return self._told

    def divide(self, steps: int, most: int) -> int:
        """The length of the scan of a run's programs: all of its steps, or equal parts, no larger than ``most``; or 0.

        One scan serves all runs of a loop, whose other steps go two by two: until runs are twice as long, or two that
        follow each other ask for as many steps as it has not.
        """
        part = 0 if self._told else _part(steps, most)
        if part > 1 and (part >= 2 * self.length or steps == self._asked):
            self.length = part
        self._asked = steps
        return self.length

    def steps(self, left: int, room: int) -> int:
        """How many of the steps that are left the next program should run: one, where none has been timed yet."""
        if self.seconds is None:
            self.settle(0)
        if self.seconds is None:
            return 1
        if left <= room and left * self.seconds <= LIMITS.program_seconds:
            return left
        # Half of the limit: an interrupt is served when the program under way and the next one are done.
        return _part(left, min(room, max(1, int(LIMITS.program_seconds / 2 / self.seconds))))

    def ahead(self, left: int, room: int) -> int:
        """How many steps' input to assemble while a program is under way."""
        return min(left, room) if self.seconds is None else self.steps(left, room)

    def may_start(self, whole: int, steps: int) -> bool:
        """Whether a program should rather start with the steps whose input is there: the device is idle, or soon.

        Args:
          whole: the steps of a run, or those that a program has room for where they are fewer.
        """
        return not self.shared and steps * _PARTS >= whole and (self.idle or self._idle_soon())

    def most(self, wanted: int, left: int) -> int:
        """How many steps a program may run at most, where the input of so many was assembled ahead."""
        return wanted if self.shared else min(left, 2 * wanted)

    # ---- programs under way -----------------------------------------------------------------------------------

    def started(self, marker: jax.Array, steps: int, start: float) -> None:
        """Notes a program under way.

        Args:
          marker: an output of it.
          start: ``time.perf_counter()`` before it was called.
        """
        self._under_way.append((marker, steps, start))

    def make_room(self, room: int) -> None:
        """Waits until the input of the programs under way, but for the last one, leaves room for as much again."""
        while len(self._under_way) > 1 and sum(steps for _, steps, _ in self._under_way) > room:
            self._finish()

    def settle(self, most: int) -> None:
        """Waits until at most so many programs are under way."""
        while len(self._under_way) > most:
            self._finish()

    def settle_long(self) -> None:
        """Waits for programs under way that take long, so that an interrupt is heard meanwhile."""
        while self._under_way and self._is_long(self._under_way[0][1]):
            self._finish()

    def _is_long(self, steps: int) -> bool:
        return self.seconds is None or steps * self.seconds > _LONG

    @property
    def idle(self) -> bool:
        """Whether no program is under way, and it may be said: of programs that processes share no two see the same."""
        if self.shared:
            return False
        while self._under_way and _is_ready(self._under_way[0][0]):
            self._finish()
        return not self._under_way

    def _idle_soon(self) -> bool:
        """Whether the only program under way is done, as it seems, before the next piece of input is there."""
        if len(self._under_way) > 1 or self.seconds is None:
            return False
        _, steps, start = self._under_way[0]
        return time.perf_counter() + PIECE_SECONDS > max(start, self._finished) + steps * self.seconds

    def _finish(self) -> None:
        """Waits for the program that started first, and learns from it how long a step takes."""
        marker, steps, start = self._under_way.popleft()
        waited = not _is_ready(marker)
        try:
            if self._is_long(steps):
                _nap_until_ready(marker)
            marker.block_until_ready()
        except BaseException as error:
            self._under_way.appendleft((marker, steps, start))
            if isinstance(error, KeyboardInterrupt) and self._is_long(steps):
                logs.warning("Interrupted: a device program of %d steps is under way, and is finished first.", steps)
            raise
        now = time.perf_counter()
        seconds = (now - max(start, self._finished)) / steps
        self._finished = now
        if self.shared:
            self.seconds = AGREEMENT.first(seconds) if self.seconds is None else self.seconds
            return
        # Of a program that was done before anybody looked this is a bound from above.
        if waited or self.seconds is None or seconds < self.seconds:
            self.seconds = seconds


def next_chunk(left: int, length: int, most: int | None = None) -> tuple[int, int]:
    """(how many steps the next input is for, for how many it has room), of the steps that are left of a run.

    Args:
      length: of the scan of its programs, 0 for none: what is shorter has room for an even number of steps.
      most: how many steps an input that is shorter may be for; None: all that are left.
    """
    if 0 < length <= left:
        return length, length
    wanted = left if most is None else min(left, most)
    return wanted, wanted + wanted % 2


def _nap_until_ready(array: jax.Array) -> None:
    """Waits in naps of a fiftieth of the time so far: a signal is heard between them, which it is not inside of XLA."""
    start = time.perf_counter()
    while not _is_ready(array):
        time.sleep(min(_LONGEST_NAP, max(_SHORTEST_NAP, (time.perf_counter() - start) / 50)))


def _is_ready(array: jax.Array) -> bool:
    return bool(array.is_ready())  # type: ignore[attr-defined]


def _part(number: int, most: int) -> int:
    """The largest of the equal parts, as few as possible, that a number has with none above ``most``."""
    return max(1, math.ceil(number / math.ceil(number / most))) if number > 0 else 1
