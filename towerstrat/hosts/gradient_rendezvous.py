"""Where processes that train on data of their own meet: once a step, to average their gradients.

Everything else each of them does for itself. A round is one program over one device of each process. It carries a word
of each, so that one whose data has ended, or that has failed, tells the others in the round that they wait for it in.
"""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from towerstrat.errors import AbortedError, OutOfRangeError
from towerstrat.hosts import process_group
from towerstrat.hosts.consensus import AGREEMENT
from towerstrat.hosts.heartbeat import ENDED, PROGRESS, STARTING
from towerstrat.hosts.messages import decode, encode
from towerstrat.hosts.process_index import PROCESSES
from towerstrat.hosts.store import STORE
from towerstrat.platform import compilers, logs

_Over = TypeVar("_Over", OutOfRangeError, AbortedError)
_AXIS = "process"
_PATIENCE = 2.0
"""Seconds that a process that has failed waits for the others to hear of it."""


class RoundMessage(IntEnum):
    """What a process says in a round."""

    GOES_ON = 0
    ENDED = 1  # its data has ended; it may begin again
    LEFT = 2  # its program has ended
    FAILED = 3


class SkippedRound(NamedTuple):
    """Why a process has no gradients for a round.

    Attributes:
      word: what it says. why: the same for people.
    """

    word: RoundMessage
    why: str


class Rows(NamedTuple):
    """A gradient of some rows of a variable: ``[rows, ...]`` and ``[rows]``."""

    values: Any
    indices: Any


class _Form(NamedTuple):
    """Name, element type and shape of a value that the first process shares."""

    name: str
    dtype: str
    shape: tuple[int, ...]


class Layout(NamedTuple):
    """What the gradients of a round are, the same in all processes.

    Attributes:
      names: of the variables, those with a gradient of all rows first.
      dense: shapes and types of the gradients of all rows.
      rows: shapes of one row and types, and the types of the indices, of the others.
    """

    names: tuple[str, ...]
    dense: tuple[tuple[tuple[int, ...], str], ...]
    rows: tuple[tuple[tuple[int, ...], str, str], ...]

    def zeros(self) -> tuple[list[Any], list[Rows]]:
        """The gradients of a process that has none."""
        dense = [np.zeros(shape, jnp.dtype(kind)) for shape, kind in self.dense]
        rows = [
            Rows(np.zeros((0, *shape), jnp.dtype(kind)), np.zeros((0,), jnp.dtype(of_indices)))
            for shape, kind, of_indices in self.rows
        ]
        return dense, rows


class GradientRounds:
    """The rounds of this run, of which every process takes part in each.

    Attributes:
      over: the error of every further round, once a process has failed or left; else None.
    """

    def __init__(self) -> None:
        self.over: OutOfRangeError | AbortedError | None = None
        self._rounds = 0
        self._shared = 0
        self._agreed: set[Layout] = set()
        self._last: Layout | None = None
        self._later: SkippedRound | None = None
        self._registered = False

    def mean(self, layout: Layout, dense: Sequence[Any], rows: Sequence[Rows]) -> tuple[list[Any], list[Rows]]:
        """The means of the processes' gradients, on this process's device; of rows, those of all processes.

        Raises:
          OutOfRangeError: the data of a process has ended, or its program.
          AbortedError: a process has failed.
          FailedPreconditionError: processes differ in what they train.
        """
        later, self._later = self._later, None
        if later is None:
            return self._round(layout, dense, rows, SkippedRound(RoundMessage.GOES_ON, ""))
        return self._round(layout, *layout.zeros(), later)

    def miss(self, layout: Layout, absence: SkippedRound) -> None:
        """Takes part in a round without gradients. Returns also where the meeting is over."""
        if self.over is not None:
            return
        try:
            self._round(layout, *layout.zeros(), absence)
        except (OutOfRangeError, AbortedError) as error:
            logs.debug("A round without gradients: %s", error)

    def fail_next(self, absence: SkippedRound) -> None:
        """Says it in the next round: this process had its gradients in the last one, and has failed since."""
        self._later = absence

    def share(self, values: Mapping[str, Any] | None) -> dict[str, Any]:
        """The first process's values by name, in all processes.

        Args:
          values: of the first process; None in the others.

        Raises:
          OpError: the meeting is over.
        """
        self._begin()
        jax.devices()  # JAX starts in all processes together: who waits below must have started it.
        self._shared += 1
        key = _share_key(self._shared)
        described: tuple[_Form, ...]
        arrays: list[Any] = []
        if values is not None:
            arrays = [jnp.asarray(value) for value in values.values()]
            described = tuple(_Form(name, a.dtype.name, a.shape) for name, a in zip(values, arrays, strict=True))
            STORE.put(key, encode(described))
        else:
            with PROGRESS.phase(STARTING, "waiting for the values of the first process's variables"):
                found = decode(STORE.get(key, 0), tuple[_Form, ...] | str)
            if isinstance(found, str):
                raise self._end(AbortedError, found)
            described = found
            arrays = [np.zeros(form.shape, jnp.dtype(form.dtype)) for form in described]
        if not arrays:
            return {}
        parts = self._together([_at_least_one(a.astype(np.int32) if a.dtype == bool else a) for a in arrays])
        wholes = [whole.addressable_shards[0].data for whole in self._firsts(parts)]
        return {
            name: whole.reshape(shape).astype(jnp.dtype(kind))
            for (name, kind, shape), whole in zip(described, wholes, strict=True)
        }

    # ---- a round ---------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        if self.over is not None:
            raise type(self.over)(None, None, self.over.message)
        if not self._registered:
            self._registered = True
            atexit.register(self._leave)  # after JAX's, so that it comes before

    def _round(
        self, layout: Layout, dense: Sequence[Any], rows: Sequence[Rows], said: SkippedRound
    ) -> tuple[list[Any], list[Rows]]:
        self._begin()
        if layout not in self._agreed:
            pieces = [(repr(each), f"{name}, {each}") for name, each in _each(layout)]
            AGREEMENT.require("averaging the gradients", {"its variables": repr(layout)}, lambda: pieces)
            self._agreed.add(layout)
        self._rounds += 1
        PROGRESS.step(self._rounds)
        PROGRESS.share(1)
        self._last = layout
        if said.word is not RoundMessage.GOES_ON:
            STORE.put(self._why_key, encode(said.why))
        counts = [len(each.indices) for each in rows]
        mine = [np.asarray([[said.word, *counts]], np.int32), *(_at_least_one(gradient) for gradient in dense)]
        words, *means = self._means(*self._together(mine))
        try:
            told = np.asarray(words.addressable_shards[0].data)
        except jax.errors.JaxRuntimeError as error:
            self._end(AbortedError, f"A round of the {PROCESSES.count} processes failed: {error}")
            raise
        self._look_at(told[:, 0])
        found = [
            mean.addressable_shards[0].data.reshape(shape) for mean, (shape, _) in zip(means, layout.dense, strict=True)
        ]
        return found, self._gathered(rows, told[:, 1:])

    def _gathered(self, rows: Sequence[Rows], counts: np.ndarray) -> list[Rows]:
        """The rows of all processes, with values divided by the number of processes."""
        if not rows:
            return []
        parts: list[Any] = []
        room = [_room(int(count)) for count in counts.max(axis=0)]
        for each, size in zip(rows, room, strict=True):
            parts += [_padded(each.values, size), _padded(each.indices, size)]
        wholes = [whole.addressable_shards[0].data for whole in self._gathers(*self._together(parts))]
        found = []
        for k, size in enumerate(room):
            places = np.concatenate([np.arange(count) + i * size for i, count in enumerate(counts[:, k])])
            values, indices = wholes[2 * k][places], wholes[2 * k + 1][places]
            found.append(Rows(values / jnp.asarray(PROCESSES.count, values.dtype), indices))
        return found

    def _look_at(self, words: np.ndarray) -> None:
        """Raises the error of a round in which a process has said another word than that it goes on."""
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
        self.over = error = kind(None, None, message)
        return error

    @property
    def _why_key(self) -> str:
        return f"meeting/why/{self._rounds}"

    # ---- the end of the program ------------------------------------------------------------------------------

    def _leave(self) -> None:
        """Tells the others, at its end, that this process takes no further part."""
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
        """One row for each process, on its first device."""
        first: dict[int, jax.Device] = {}
        for device in jax.devices():
            first.setdefault(device.process_index, device)
        mesh = Mesh(np.array([first[i] for i in sorted(first)]), (_AXIS,))
        return NamedSharding(mesh, PartitionSpec(_AXIS))

    def _together(self, parts: Sequence[Any]) -> list[jax.Array]:
        """Arrays of all processes' parts, one after the other along the first dimension. Parts stay where they are."""
        device = jax.local_devices()[0]
        return [
            jax.make_array_from_single_device_arrays(
                (PROCESSES.count * part.shape[0], *part.shape[1:]), self._split, [jax.device_put(part, device)]
            )
            for part in parts
        ]

    def _program(self, function: Callable[..., Any]) -> Callable[..., Any]:
        mesh, split = self._split.mesh, self._split.spec
        mapped = jax.shard_map(function, mesh=mesh, in_specs=split, out_specs=PartitionSpec(), check_vma=False)
        return compilers.jit(mapped, mesh.devices.flat[0].platform)

    @cached_property
    def _means(self) -> Callable[..., Any]:
        summed = _sums_in_one if jax.devices()[0].platform == "cpu" else _sums

        def means(words: jax.Array, *gradients: jax.Array) -> Any:
            return _gather(words), *(total / jnp.asarray(PROCESSES.count, total.dtype) for total in summed(gradients))

        return self._program(means)

    @cached_property
    def _gathers(self) -> Callable[..., Any]:
        return self._program(lambda *parts: tuple(_gather(part) for part in parts))

    @cached_property
    def _firsts(self) -> Callable[..., Any]:
        def firsts(values: Sequence[jax.Array]) -> Any:
            mine = lax.axis_index(_AXIS) == 0
            return [lax.psum(jnp.where(mine, v, jnp.zeros_like(v)), _AXIS) for v in values]

        return self._program(firsts)


def _share_key(number: int) -> str:
    return f"meeting/share/{number}"


def _sums(values: Sequence[jax.Array]) -> list[jax.Array]:
    return [lax.psum(value, _AXIS) for value in values]


def _sums_in_one(values: Sequence[jax.Array]) -> list[jax.Array]:
    """The sums by one collective for each type: what compilers for accelerators do by themselves, and gloo does not."""
    found: dict[int, jax.Array] = {}
    for kind in dict.fromkeys(value.dtype for value in values):
        own = [i for i, value in enumerate(values) if value.dtype == kind]
        total = lax.psum(jnp.concatenate([values[i].ravel() for i in own]), _AXIS)
        ends = np.cumsum([values[i].size for i in own])[:-1]
        for i, part in zip(own, jnp.split(total, ends), strict=True):
            found[i] = part.reshape(values[i].shape)
    return [found[i] for i in range(len(values))]


def _gather(part: jax.Array) -> jax.Array:
    return lax.all_gather(part, _AXIS, tiled=True)


def _each(layout: Layout) -> list[tuple[str, Any]]:
    return list(zip(layout.names, (*layout.dense, *layout.rows), strict=True))


def _at_least_one(value: Any) -> Any:
    """The value with a dimension, which processes' values are put together along."""
    return value if value.ndim else value.reshape((1,))


def _room(count: int) -> int:
    """How many rows a program has room for: numbers that change from step to step compile few of them."""
    return 1 << (count - 1).bit_length() if count else 1


def _padded(part: Any, size: int) -> Any:
    left = size - part.shape[0]
    return jnp.pad(part, [(0, left), *((0, 0) for _ in part.shape[1:])]) if left else part


MEETING = GradientRounds()
