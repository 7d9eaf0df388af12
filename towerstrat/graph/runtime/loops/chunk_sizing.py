"""Chunk sizes of step loops, and the queue of device programs that have been started and not awaited.

A loop of many steps runs as few device programs as memory and patience allow. ``ChunkScheduler`` has one loop's
numbers: bytes of a step's input, seconds of a step, and the length of the one ``lax.scan`` that is compiled for it.

* By memory (``fitting``, ``divide``): a run is cut into equal scans whose input fits ``LIMITS.input_of``. One scan
  length serves all runs of the loop, since each length is a compilation; the steps that it leaves over go two by two.
* By time (``steps``, ``ahead``): loops over data that nobody asked to put together take as many steps per program as
  run in ``LIMITS.program_seconds``, measured on the programs before. The first program is one step.

A run of 100 steps, where the input of 40 fits: three scans would be of 34, the last one short of two steps; so two
scans of 34, then 16 programs of two steps.

>>> _part(100, 40)
34
>>> next_chunk(100, 34), next_chunk(32, 34)
((34, 34), (32, 32))

Programs are dispatched asynchronously: ``note_start`` enters one, ``wait_until_at_most`` and ``make_room`` wait until
few enough are left, and each wait times a step. Where several processes share the programs nothing here may depend on
one process's clock: they use the first process's first measurement, and no program counts as done early.
"""

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
from towerstrat.hosts.collectives import COLLECTIVES
from towerstrat.platform import logs

_PARTS = 32
"""Smallest part of a run, one in so many, with which a program may start before all input is there."""


_PADDING = 16
"""Largest factor by which compilers pad input: what is under the budget by it needs no look at the program."""
_LOOP_BYTES = 4 << 10
"""Bytes by which two loops of one body may differ in counters and pointers."""
_LONG = 0.5
"""Seconds from which on a program is long: the host naps while it waits, to serve interrupts."""
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
        self.shared = axis is not None and axis.is_multi_process
        self.seconds: float | None = None
        self._under_way: deque[tuple[jax.Array, int, float]] = deque()
        self._finished = 0.0

    # ---- sizes -------------------------------------------------------------------------------------------------

    def fitting(self, step_bytes: int) -> int:
        """The number of steps whose input fits the budget; at least two, the least that a program has room for."""
        return max(2, LIMITS.input_of(self.device) // max(self._step_bytes, step_bytes))

    def refuses(self, description: str, steps: int, input_bytes: int, program: Callable[[int], Program]) -> bool:
        """Whether a scan of so many steps must not run; ``divide`` then finds another length, or none.

        Either it needs more than the budget for its input, as the compiler lays that out (padding included); or, with
        ``LIMITS.compare_loops``, its compiled step differs from that of the loop with a traced count.

        Args:
          description: the loop, in words.
          steps: of the scan.
          input_bytes: of all the steps, as the host has it.
          program: (steps) -> the compiled scan, or for other numbers of steps the counted loop with room for so many.
        """
        # Two steps run in any case: no program has room for fewer.
        if steps <= 2 or not (
            self._too_large(steps, input_bytes, program) or self._differs(description, steps, program)
        ):
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
        memory = program(steps).memory * self._devices
        if memory <= budget:
            return False
        # What two loops of one body need differs by their input.
        self._step_bytes = max(1, (memory - program(2).memory * self._devices - _LOOP_BYTES) // (steps - 2))
        if steps <= self.fitting(self._step_bytes):
            return False
        self._weighed = 0
        return True

    def _differs(self, description: str, steps: int, program: Callable[[int], Program]) -> bool:
        if not LIMITS.compare_loops or steps == self._compared:
            return False
        self._compared = steps
        scan, counted = program(steps).compiled, program(2).compiled
        mismatches = differences(scan, counted) if scan is not None and counted is not None else []
        self._told = bool(mismatches)
        if mismatches:
            logs.warning(
                "%s: the compiler makes something else of a step in a scan of %d than in a loop of a number that it is "
                "told, so all steps go through the latter. Please report it, with the first of %d differences: %s",
                description, steps, len(mismatches), mismatches[0],
            )  # fmt: skip
        return self._told

    def divide(self, steps: int, most: int) -> int:
        """The length of the scan of a run's programs: all its steps, or equal parts of at most ``most``; 0 for no scan.

        The length stays for later runs, until one is at least twice as long, or two runs in a row ask for the same
        number of steps.
        """
        part = 0 if self._told else _part(steps, most)
        if part > 1 and (part >= 2 * self.length or steps == self._asked):
            self.length = part
        self._asked = steps
        return self.length

    def steps(self, left: int, room: int) -> int:
        """The number of steps of the next program, of ``left``: by the time of a step, 1 before one was timed."""
        if self.seconds is None:
            self.wait_until_at_most(0)
        if self.seconds is None:
            return 1
        if left <= room and left * self.seconds <= LIMITS.program_seconds:
            return left
        # Half of the limit: an interrupt is served when the program under way and the next one are done.
        return _part(left, min(room, max(1, int(LIMITS.program_seconds / 2 / self.seconds))))

    def ahead(self, left: int, room: int) -> int:
        """The number of steps whose input to assemble while a program runs."""
        return min(left, room) if self.seconds is None else self.steps(left, room)

    def may_start(self, capacity: int, steps: int) -> bool:
        """Whether to start a program on the input that is there rather than wait: the device is idle, or soon.

        Args:
          capacity: the steps of a run, or those that a program has room for where they are fewer.
          steps: those whose input is there.
        """
        return not self.shared and steps * _PARTS >= capacity and (self.idle or self._idle_soon())

    def most(self, requested: int, left: int) -> int:
        """The upper bound of a program's steps, where more input than ``requested`` was assembled ahead."""
        return requested if self.shared else min(left, 2 * requested)

    # ---- programs under way -----------------------------------------------------------------------------------

    def note_start(self, marker: jax.Array, steps: int, start: float) -> None:
        """Enter a program that was dispatched.

        Args:
          marker: an output of it.
          steps: the number of steps that it runs.
          start: ``time.perf_counter()`` before it was called.
        """
        self._under_way.append((marker, steps, start))

    def make_room(self, room: int) -> None:
        """Wait until the input of the programs under way, but for the last one, takes no more than ``room`` steps."""
        while len(self._under_way) > 1 and sum(steps for _, steps, _ in self._under_way) > room:
            self._finish()

    def wait_until_at_most(self, most: int) -> None:
        """Wait until at most ``most`` programs are under way."""
        while len(self._under_way) > most:
            self._finish()

    def wait_for_long(self) -> None:
        """Wait for programs that run longer than half a second, so that an interrupt is served meanwhile."""
        while self._under_way and self._is_long(self._under_way[0][1]):
            self._finish()

    def _is_long(self, steps: int) -> bool:
        return self.seconds is None or steps * self.seconds > _LONG

    @property
    def idle(self) -> bool:
        """Whether no program is under way; False where processes share the programs: each would see it otherwise."""
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
        """Wait for the program that started first, and take the time of a step from it."""
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
            self.seconds = COLLECTIVES.broadcast(seconds) if self.seconds is None else self.seconds
            return
        # Of a program that was done before anybody looked this is a bound from above.
        if waited or self.seconds is None or seconds < self.seconds:
            self.seconds = seconds


def next_chunk(left: int, length: int, most: int | None = None) -> tuple[int, int]:
    """(steps whose input to take, steps that its buffers have room for), for the next chunk of a run.

    Args:
      left: steps of the run that no chunk has yet.
      length: of the scan of its programs, 0 for none. A shorter chunk has room for an even number of steps.
      most: the most steps that a shorter chunk may be for; None: all that are left.
    """
    if 0 < length <= left:
        return length, length
    steps = left if most is None else min(left, most)
    return steps, steps + steps % 2


def _nap_until_ready(array: jax.Array) -> None:
    """Wait in naps of a fiftieth of the time so far: between them signals are served, which XLA does not."""
    start = time.perf_counter()
    while not _is_ready(array):
        time.sleep(min(_LONGEST_NAP, max(_SHORTEST_NAP, (time.perf_counter() - start) / 50)))


def _is_ready(array: jax.Array) -> bool:
    return bool(array.is_ready())  # type: ignore[attr-defined]


def _part(number: int, most: int) -> int:
    """The size of the parts when ``number`` is cut into the fewest equal parts of at most ``most``, rounded up."""
    return max(1, math.ceil(number / math.ceil(number / most))) if number > 0 else 1
