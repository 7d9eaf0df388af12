"""Synchronous data parallelism of processes that are otherwise on their own: once a step they average their gradients.

This is the original's between-graph replication: each process has a graph, a session and data of its own. All that
they do together is a round per step, in which each has the same ``Layout`` (names, shapes and dtypes of gradients):

1. At the first use of a layout all compare it (``COLLECTIVES.agree``).
2. One program over one device of each process averages the dense gradients, and gathers an int32 row of each process:
   its ``RoundMessage``, and how many rows it has of each sparse gradient.
3. Where there are sparse gradients, a second program gathers their rows, padded to a power of two (``_room``).

    process 0     w: [1., 3.]     table: rows [0], values [[2.]]
    process 1     w: [3., 5.]     table: rows [0, 5], values [[4.], [6.]]
    mean, both    w: [2., 4.]     table: rows [0, 0, 5], values [[1.], [2.], [3.]]

A collective waits until all processes are in it, so every process takes part in every round, also where it has nothing
to give: it brings zeros, and its ``RoundMessage`` says why. The largest of all decides. The means are then discarded,
and the others raise the same error:

>>> dense, rows = Layout(("w", "table"), (((2,), "float32"),), (((1,), "float32", "int32"),)).zeros()
>>> dense[0].tolist(), rows[0].values.shape, rows[0].indices.shape
([0.0, 0.0], (0, 1), (0,))
>>> max(RoundMessage.GOES_ON, RoundMessage.ENDED)
<RoundMessage.ENDED: 1>

After ``ENDED`` (its input is exhausted: ``OutOfRangeError``) training may begin again; after ``LEFT`` or ``FAILED``
there are no more rounds (``over``). A process that has trained takes part in a last round when it exits, so that nobody
waits for it forever. ``share`` broadcasts the first process's variables, from which all begin.
"""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from towerstrat.errors import AbortedError, OutOfRangeError
from towerstrat.hosts import process_group
from towerstrat.hosts.collectives import COLLECTIVES
from towerstrat.hosts.heartbeat import ENDED, PROGRESS, STARTING
from towerstrat.hosts.messages import decode, encode
from towerstrat.hosts.process_index import PROCESSES
from towerstrat.hosts.store import STORE
from towerstrat.platform import compilers, logs

_Over = TypeVar("_Over", OutOfRangeError, AbortedError)
_AXIS = "process"
_PATIENCE = 2.0
"""Seconds that a process that has failed waits, at its exit, for the others to come to its last round."""

HostArray: TypeAlias = "np.ndarray[Any, Any]"
Gradient: TypeAlias = "HostArray | jax.Array"


class RoundMessage(IntEnum):
    """Status of a process in a round; the largest of all processes decides for all of them."""

    GOES_ON = 0
    ENDED = 1  # its data has ended; it may begin again
    LEFT = 2  # its program has ended
    FAILED = 3


class SkippedRound(NamedTuple):
    """Status of a process that has no gradients for a round.

    Attributes:
      word: its status. why: the reason as text, for the errors that the others raise.
    """

    word: RoundMessage
    why: str


class Rows(NamedTuple):
    """Sparse gradient: values ``[rows, ...]`` and the indices ``[rows]`` of the variable's rows."""

    values: Gradient
    indices: Gradient


class _Form(NamedTuple):
    """Name, dtype and shape of an array that the first process broadcasts."""

    name: str
    dtype: str
    shape: tuple[int, ...]


class Layout(NamedTuple):
    """Signature of a round's gradients, equal in all processes.

    Attributes:
      names: of the variables, those with dense gradients first.
      dense: (shape, dtype name) of each dense gradient.
      rows: (shape of one row, dtype name, dtype name of the indices) of each sparse gradient.
    """

    names: tuple[str, ...]
    dense: tuple[tuple[tuple[int, ...], str], ...]
    rows: tuple[tuple[tuple[int, ...], str, str], ...]

    def zeros(self) -> tuple[list[Gradient], list[Rows]]:
        """Gradients of a process that has none, as numpy arrays: dense zeros, and sparse ones of no rows."""
        dense: list[Gradient] = [np.zeros(shape, jnp.dtype(kind)) for shape, kind in self.dense]
        rows = [
            Rows(np.zeros((0, *shape), jnp.dtype(kind)), np.zeros((0,), jnp.dtype(of_indices)))
            for shape, kind, of_indices in self.rows
        ]
        return dense, rows


class GradientRounds:
    """The rounds of this run. Every process takes part in every round, in the same order.

    Attributes:
      over: the error that every further round raises, once a process has failed or left; else None.
    """

    def __init__(self) -> None:
        self.over: OutOfRangeError | AbortedError | None = None
        self._rounds = 0
        self._shared = 0
        self._agreed: set[Layout] = set()
        self._last: Layout | None = None
        self._later: SkippedRound | None = None
        self._registered = False

    def mean(
        self, layout: Layout, dense: Sequence[Gradient], rows: Sequence[Rows]
    ) -> tuple[list[Gradient], list[Rows]]:
        """Averages gradients over the processes: one round.

        Args:
          layout: of the gradients.
          dense: one array each.
          rows: one sparse gradient each.

        Returns:
          Arrays on this process's first device: the means of dense gradients, in their shapes and dtypes; of sparse
          gradients the rows of all processes, in order of process, their values divided by the number of processes.

        Raises:
          OutOfRangeError: the data of a process has ended, or its program.
          AbortedError: a process has failed.
          FailedPreconditionError: the layouts of processes differ.
        """
        later, self._later = self._later, None
        if later is None:
            return self._round(layout, dense, rows, SkippedRound(RoundMessage.GOES_ON, ""))
        return self._round(layout, *layout.zeros(), later)

    def miss(self, layout: Layout, absence: SkippedRound) -> None:
        """Takes part in a round without gradients, and raises none of its errors; no round where ``over`` is set."""
        if self.over is not None:
            return
        try:
            self._round(layout, *layout.zeros(), absence)
        except (OutOfRangeError, AbortedError) as error:
            logs.debug("A round without gradients: %s", error)

    def fail_next(self, absence: SkippedRound) -> None:
        """Makes the next ``mean`` bring this status and zeros: the process has failed after its round."""
        self._later = absence

    def share(self, values: Mapping[str, jax.typing.ArrayLike] | None) -> dict[str, jax.Array]:
        """Broadcasts the first process's values to all: name -> array on this process's first device.

        Args:
          values: the values in the first process; None in the others.

        Raises:
          OutOfRangeError, AbortedError: ``over`` is set, or the first process has ended without sharing them.
        """
        self._begin()
        jax.devices()  # JAX starts in all processes together: who waits below must have started it.
        self._shared += 1
        key = _share_key(self._shared)
        described: tuple[_Form, ...]
        arrays: list[jax.Array] | list[HostArray] = []
        if values is not None:
            arrays = [jnp.asarray(value) for value in values.values()]
            described = tuple(_Form(name, a.dtype.name, a.shape) for name, a in zip(values, arrays, strict=True))
            STORE.put(key, encode(described))
        else:
            with PROGRESS.phase(STARTING, "waiting for the values of the first process's variables"):
                received = decode(STORE.get(key, 0), tuple[_Form, ...] | str)
            if isinstance(received, str):
                raise self._end(AbortedError, received)
            described = received
            arrays = [np.zeros(form.shape, jnp.dtype(form.dtype)) for form in described]
        if not arrays:
            return {}
        parts = self._together([_at_least_one(a.astype(np.int32) if a.dtype == bool else a) for a in arrays])
        replicated: list[jax.Array] = [array.addressable_shards[0].data for array in self._firsts(parts)]
        return {
            name: array.reshape(shape).astype(jnp.dtype(kind))
            for (name, kind, shape), array in zip(described, replicated, strict=True)
        }

    # ---- a round ---------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        if self.over is not None:
            raise type(self.over)(None, None, self.over.message)
        if not self._registered:
            self._registered = True
            atexit.register(self._leave)  # after JAX's handler, so that it runs before

    def _round(
        self, layout: Layout, dense: Sequence[Gradient], rows: Sequence[Rows], said: SkippedRound
    ) -> tuple[list[Gradient], list[Rows]]:
        """One round. Arguments, result and errors as of ``mean``; ``said`` is this process's status."""
        self._begin()
        if layout not in self._agreed:
            pieces = [(repr(each), f"{name}, {each}") for name, each in _each(layout)]
            COLLECTIVES.agree("averaging the gradients", {"its variables": repr(layout)}, lambda: pieces)
            self._agreed.add(layout)
        self._rounds += 1
        PROGRESS.step(self._rounds)
        PROGRESS.share(1)
        self._last = layout
        if said.word is not RoundMessage.GOES_ON:
            STORE.put(self._why_key, encode(said.why))
        counts = [len(each.indices) for each in rows]
        mine = [np.asarray([[said.word, *counts]], np.int32), *(_at_least_one(gradient) for gradient in dense)]
        results: tuple[jax.Array, ...] = self._means(*self._together(mine))
        words, *means = results
        try:
            statuses = np.asarray(words.addressable_shards[0].data)
        except jax.errors.JaxRuntimeError as error:
            self._end(AbortedError, f"A round of the {PROCESSES.count} processes failed: {error}")
            raise
        self._look_at(statuses[:, 0])
        averages: list[Gradient] = [
            mean.addressable_shards[0].data.reshape(shape) for mean, (shape, _) in zip(means, layout.dense, strict=True)
        ]
        return averages, self._gather_rows(rows, statuses[:, 1:])

    def _gather_rows(self, rows: Sequence[Rows], counts: HostArray) -> list[Rows]:
        """Gathers sparse gradients: rows of all processes, values divided by the number of processes.

        Args:
          rows: this process's sparse gradients, in the order of the layout.
          counts: ``[processes, sparse gradients]``, the numbers of rows.
        """
        if not rows:
            return []
        parts: list[Gradient] = []
        room = [_room(int(count)) for count in counts.max(axis=0)]
        for each, size in zip(rows, room, strict=True):
            parts += [_pad(each.values, size), _pad(each.indices, size)]
        gathered: list[jax.Array] = [
            array.addressable_shards[0].data for array in self._gathers(*self._together(parts))
        ]
        combined = []
        for k, size in enumerate(room):
            places = np.concatenate([np.arange(count) + i * size for i, count in enumerate(counts[:, k])])
            values, indices = gathered[2 * k][places], gathered[2 * k + 1][places]
            combined.append(Rows(values / jnp.asarray(PROCESSES.count, values.dtype), indices))
        return combined

    def _look_at(self, words: HostArray) -> None:
        """Raises the error of a round in which a process does not go on; ``words``: statuses, ``[processes]``."""
        worst = RoundMessage(int(words.max()))
        if worst is RoundMessage.GOES_ON:
            return
        who = int(np.argmax(words == worst))
        why = decode(STORE.get(self._why_key, who), str)
        if worst is RoundMessage.ENDED:
            raise OutOfRangeError(
                None,
                None,
                f"The data of process {who} of {PROCESSES.count} has ended ({why}), and so ends this pass for "
                f"all of them.",
            )
        if worst is RoundMessage.LEFT:
            raise self._end(OutOfRangeError, why)
        raise self._end(AbortedError, f"Process {who} of {PROCESSES.count} failed: {why}")

    def _end(self, kind: type[_Over], message: str) -> _Over:
        """Sets and returns the error of this and all further rounds."""
        self.over = error = kind(None, None, message)
        return error

    @property
    def _why_key(self) -> str:
        return f"meeting/why/{self._rounds}"

    # ---- the end of the program ------------------------------------------------------------------------------

    def _leave(self) -> None:
        """Takes part in a last round at exit, with ``LEFT`` or ``FAILED``: the others would wait for it forever."""
        if self.over is not None:
            return
        failure = process_group.failure()
        words = "the program has ended" if failure is None else failure
        word = RoundMessage.LEFT if failure is None else RoundMessage.FAILED
        why = f"Process {PROCESSES.index} of {PROCESSES.count} trains no more: {words}."
        if PROCESSES.index == 0:
            STORE.put(_share_key(self._shared + 1), encode(why))
        if self._last is None:
            return
        absence = SkippedRound(word, why if failure is None else words)
        if failure is None:
            PROGRESS.enter(ENDED)
            self.miss(self._last, absence)
            return
        telling = threading.Thread(target=self.miss, args=(self._last, absence), daemon=True)
        telling.start()
        telling.join(_PATIENCE)

    # ---- programs over one device of each process --------------------------------------------------------------

    @cached_property
    def _split(self) -> NamedSharding:
        """Sharding along dimension 0 over the processes, on the first device of each."""
        first: dict[int, jax.Device] = {}
        for device in jax.devices():
            first.setdefault(device.process_index, device)
        mesh = Mesh(np.array([first[i] for i in sorted(first)]), (_AXIS,))
        return NamedSharding(mesh, PartitionSpec(_AXIS))

    def _together(self, parts: Sequence[Gradient]) -> list[jax.Array]:
        """Global arrays, sharded by ``_split``, of which each process holds its part; nothing is sent."""
        device = jax.local_devices()[0]
        return [
            jax.make_array_from_single_device_arrays(
                (PROCESSES.count * part.shape[0], *part.shape[1:]), self._split, [jax.device_put(part, device)]
            )
            for part in parts
        ]

    def _program(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Compiles a function of each process's parts whose result is replicated."""
        mesh, split = self._split.mesh, self._split.spec
        mapped = jax.shard_map(function, mesh=mesh, in_specs=split, out_specs=PartitionSpec(), check_vma=False)
        program: Callable[..., Any] = compilers.jit(mapped, mesh.devices.flat[0].platform)
        return program

    @cached_property
    def _means(self) -> Callable[..., Any]:
        """The program of a round: (statuses and row counts, *dense gradients) -> (all processes' rows, *means)."""
        summed = _sums_in_one if jax.devices()[0].platform == "cpu" else _sums

        def means(words: jax.Array, *gradients: jax.Array) -> tuple[jax.Array, ...]:
            return _gather(words), *(total / jnp.asarray(PROCESSES.count, total.dtype) for total in summed(gradients))

        return self._program(means)

    @cached_property
    def _gathers(self) -> Callable[..., Any]:
        """The program that gathers padded rows of all processes along dimension 0."""
        return self._program(lambda *parts: tuple(_gather(part) for part in parts))

    @cached_property
    def _firsts(self) -> Callable[..., Any]:
        """The program that broadcasts the first process's parts, as a sum to which all others add zeros."""

        def firsts(values: Sequence[jax.Array]) -> list[jax.Array]:
            mine = lax.axis_index(_AXIS) == 0
            return [lax.psum(jnp.where(mine, v, jnp.zeros_like(v)), _AXIS) for v in values]

        return self._program(firsts)


def _share_key(number: int) -> str:
    return f"meeting/share/{number}"


def _sums(values: Sequence[jax.Array]) -> list[jax.Array]:
    return [lax.psum(value, _AXIS) for value in values]


def _sums_in_one(values: Sequence[jax.Array]) -> list[jax.Array]:
    """The sums by one collective per dtype: compilers for accelerators combine all-reduces, gloo does not."""
    sums: dict[int, jax.Array] = {}
    for kind in dict.fromkeys(value.dtype for value in values):
        indices = [i for i, value in enumerate(values) if value.dtype == kind]
        total: jax.Array = lax.psum(jnp.concatenate([values[i].ravel() for i in indices]), _AXIS)
        ends = np.cumsum([values[i].size for i in indices])[:-1]
        for i, part in zip(indices, jnp.split(total, ends), strict=True):
            sums[i] = part.reshape(values[i].shape)
    return [sums[i] for i in range(len(values))]


def _gather(part: jax.Array) -> jax.Array:
    parts: jax.Array = lax.all_gather(part, _AXIS, tiled=True)
    return parts


def _each(layout: Layout) -> list[tuple[str, tuple[object, ...]]]:
    return list(zip(layout.names, (*layout.dense, *layout.rows), strict=True))


def _at_least_one(value: Gradient) -> Gradient:
    """A scalar as ``[1]``, any other array as it is: parts are concatenated along dimension 0."""
    return value if value.ndim else value.reshape((1,))


def _room(count: int) -> int:
    """Rows to pad to, the next power of two: counts that change from step to step then compile few programs.

    >>> [_room(count) for count in (0, 1, 5, 8)]
    [1, 1, 8, 8]
    """
    return 1 << (count - 1).bit_length() if count else 1


def _pad(part: Gradient, size: int) -> Gradient:
    left = size - part.shape[0]
    return jnp.pad(part, [(0, left), *((0, 0) for _ in part.shape[1:])]) if left else part


GRADIENT_ROUNDS = GradientRounds()
