"""``python -m tests.fuzz.compilers --count N --seed S [--as-it-is]``: does the compiler below compute what NumPy does?

Programs are chains of two to five products, sums, windows, transposes, broadcasts and gathers of rank 3 and more, with
a dimension of 512 to 4,096. Their numbers are integers so small that float32 holds every sum: the difference must
be 0. They are compiled as the package compiles, ``--as-it-is`` without what keeps known defects out. Each runs in a
process that may end or hang: then it is named, and another process goes on with the next. The first ones are those
that found known defects; program ``i`` after them has the seed ``S + i``.
"""

from __future__ import annotations

import argparse
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from towerstrat.platform import compilers

EXACT = 2.0**24
"""Below this float32 has all integers."""
LARGEST = 2**20
"""Elements of a value, and a sixty-fourth of the multiplications of a product."""
LONG = (512, 4096)


class Step(NamedTuple):
    """One operation of a chain: ``apply(xp, value, *operands)``, with numpy or jax.numpy as ``xp``."""

    text: str
    apply: Callable[..., Any]
    operands: tuple[np.ndarray, ...] = ()


class Chain(NamedTuple):
    start: np.ndarray
    steps: list[Step]

    def __str__(self) -> str:
        return " ".join([f"x{list(self.start.shape)}", *(step.text for step in self.steps)])

    def compute(self, xp: Any, start: Any, operands: list[tuple[Any, ...]]) -> Any:
        value = start
        for step, own in zip(self.steps, operands, strict=True):
            value = step.apply(xp, value, *own)
        return value

    def difference(self, jit: Callable[[Callable[..., Any]], Any]) -> float:
        """The largest difference between the compiled chain and NumPy's."""
        operands = [step.operands for step in self.steps]
        found = jit(lambda start, operands: self.compute(jnp, start, operands))(self.start, operands)
        wanted = self.compute(np, self.start, operands)
        assert found.shape == wanted.shape, self
        return float(np.abs(np.asarray(found, np.float64) - wanted).max(initial=0))


# ---- steps ---------------------------------------------------------------------------------------------------------


def integers(rng: np.random.RandomState, *shape: int) -> np.ndarray:
    return rng.randint(-3, 4, shape).astype(np.float32)


def product(rng: np.random.RandomState, x: np.ndarray) -> Step:
    """With a matrix that is given for each row of the batch, or once and broadcast; turned in the program, or not."""
    *batch, _, inner = x.shape
    most = min(LARGEST * 64 // x.size, LARGEST // (x.size // inner), LARGEST // (inner * int(np.prod(batch))))
    columns = int(rng.randint(*LONG)) if most >= LONG[1] and rng.rand() < 0.7 else int(rng.randint(1, 9))
    broadcast, turned = rng.rand() < 0.7, rng.rand() < 0.6
    matrix = (columns, inner) if turned else (inner, columns)
    given = integers(rng, *matrix) if broadcast else integers(rng, *batch, *matrix)

    def apply(xp: Any, value: Any, other: Any) -> Any:
        other = xp.broadcast_to(other, (*batch, *matrix))
        return xp.matmul(value, xp.swapaxes(other, -1, -2) if turned else other)

    return Step(f"@ {'broadcast' * broadcast}{list(matrix)}{'.T' * turned}", apply, (given,))


def times(rng: np.random.RandomState, x: np.ndarray) -> Step:
    """Multiplied by a line, a column or a number for each row of the batch."""
    kept = rng.rand(x.ndim) < 0.5
    shape = [n if k else 1 for n, k in zip(x.shape, kept, strict=True)]
    return Step(f"* {shape}", lambda xp, value, other: value * other, (integers(rng, *shape),))


def reduction(rng: np.random.RandomState, x: np.ndarray) -> Step:
    axes = tuple(sorted(int(a) for a in rng.choice(x.ndim, 1 if x.ndim < 4 else rng.randint(1, 3), replace=False)))
    kind, kept = rng.choice(["sum", "sum", "max", "square sum"]), bool(rng.rand() < 0.3)

    def apply(xp: Any, value: Any) -> Any:
        if kind == "max":
            return xp.max(value, axes, keepdims=kept)
        return xp.sum(value * value if kind == "square sum" else value, axes, keepdims=kept)

    return Step(f"{kind}{axes}{' kept' * kept}", apply)


def window(rng: np.random.RandomState, x: np.ndarray) -> Step:
    sizes = tuple(int(min(n, rng.choice([1, 1, 2, 3]))) for n in x.shape)
    largest = bool(rng.rand() < 0.5)

    def apply(xp: Any, value: Any) -> Any:
        if xp is np:
            windows = np.lib.stride_tricks.sliding_window_view(value, sizes)
            return (np.max if largest else np.sum)(windows, tuple(range(value.ndim, 2 * value.ndim)))
        initial, combine = (-np.inf, lax.max) if largest else (0.0, lax.add)
        return lax.reduce_window(value, np.float32(initial), combine, sizes, (1,) * value.ndim, "VALID")

    return Step(f"{'max' if largest else 'sum'} of windows{sizes}", apply)


def transpose(rng: np.random.RandomState, x: np.ndarray) -> Step:
    order = tuple(map(int, rng.permutation(x.ndim)))
    return Step(f"transposed{order}", lambda xp, value: xp.transpose(value, order))


def broadcast(rng: np.random.RandomState, x: np.ndarray) -> Step:
    count, axis = int(rng.randint(2, 6)), int(rng.randint(x.ndim + 1))
    shape = (*x.shape[:axis], count, *x.shape[axis:])
    return Step(f"broadcast to {list(shape)}", lambda xp, value: xp.broadcast_to(xp.expand_dims(value, axis), shape))


def gather(rng: np.random.RandomState, x: np.ndarray) -> Step:
    axis = int(rng.randint(x.ndim))
    indices = rng.randint(0, x.shape[axis], x.shape[axis]).astype(np.int32)
    return Step(f"gathered along {axis}", lambda xp, value, at: xp.take(value, at, axis), (indices,))


STEPS = [product, product, product, times, reduction, reduction, reduction, window, transpose, broadcast, gather]


def draw(seed: int) -> Chain:
    """The chain of a seed."""
    rng = np.random.RandomState(seed)
    shape = [*rng.choice([1, 2, 3, 5, 8], rng.randint(1, 3)), *rng.choice([2, 3, 8, 16, 64], 2)]
    if rng.rand() < 0.5:
        shape[int(rng.choice(len(shape)))] = rng.randint(*LONG)
    value = start = integers(rng, *shape)
    bound = np.abs(start).astype(np.float64)
    steps: list[Step] = []
    count = rng.randint(2, 6)
    while len(steps) < count:
        step = STEPS[rng.choice(len(STEPS))](rng, value)
        # What the numbers of the step's sums may add up to: the same step of absolute values.
        most = step.apply(np, bound, *(o if o.dtype == np.int32 else np.abs(o) for o in step.operands))
        if most.size and most.max() < EXACT and most.size <= LARGEST and (len(steps) == count - 1 or most.ndim >= 2):
            steps.append(step)
            value, bound = step.apply(np, value, *step.operands), most
        elif value.ndim < 3:
            count -= 1
    return Chain(start, steps)


def known() -> Iterator[Chain]:
    """A batch of small matrices times a long one that is broadcast and turned, summed: wrong in jaxlib 0.10.2."""
    for count, length, inner in [(5, 1000, 2), (5, 512, 2), (5, 1000, 8), (5, 1000, 64), (2, 1000, 2), (32, 64, 64)]:
        rng = np.random.RandomState(1)
        start, matrix = integers(rng, count, inner, inner), integers(rng, length, inner)

        def apply(xp: Any, value: Any, other: Any, shape: Any = (count, length, inner)) -> Any:
            return xp.matmul(value, xp.swapaxes(xp.broadcast_to(other, shape), -1, -2))

        yield Chain(
            start,
            [
                Step(f"@ broadcast{[length, inner]}.T", apply, (matrix,)),
                Step("sum(1,)", lambda xp, value: xp.sum(value, 1)),
            ],
        )


# ---- processes -----------------------------------------------------------------------------------------------------


def run(seed: int, first: int, last: int, as_it_is: bool) -> None:
    """In a process of its own: a line before each program and one after it, with the difference."""
    jit = jax.jit if as_it_is else lambda function: compilers.jit(function, compilers.default_platform())
    chains = list(known())
    for i in range(first, last):
        chain = chains[i] if i < len(chains) else draw(seed + i - len(chains))
        print(f"{i}\t{chain}", flush=True)
        print(chain.difference(jit), flush=True)


def search(count: int, seed: int, as_it_is: bool, seconds: float, say: Callable[[str], None]) -> int:
    """Runs the known programs and ``count`` random ones; how many are wrong, do not end or end their process.

    Args:
      seconds: after which a program has not ended.
    """
    at, last, found = 0, count + len(list(known())), 0
    while at < last:
        command = [sys.executable, "-m", "tests.fuzz.compilers", "--run", str(at), str(last), "--seed", str(seed)]
        environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
        child = subprocess.Popen(
            command + ["--as-it-is"] * as_it_is, stdout=subprocess.PIPE, text=True, env=environment,
            cwd=Path(__file__).parents[2],
        )  # fmt: skip
        lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        reading = threading.Thread(target=_read, args=(child, lines), daemon=True)
        reading.start()
        try:
            while at < last:
                told = str(at)
                try:
                    told = lines.get(timeout=seconds) or told
                    difference = lines.get(timeout=seconds) if told != str(at) else None
                    what = f"off by {difference}" if difference else f"ended its process ({child.wait(seconds)})"
                except queue.Empty:
                    difference, what = None, "has not ended"
                at += 1
                if difference is None or float(difference) != 0:
                    found += 1
                    say(f"{told}: {what}")
                if difference is None:
                    break
        finally:
            child.kill()
            child.wait()
            reading.join()
    return found


def _read(child: subprocess.Popen[str], lines: queue.SimpleQueue[str | None]) -> None:
    assert child.stdout is not None
    with child.stdout:
        for line in child.stdout:
            lines.put(line.strip())
    lines.put(None)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.compilers", description="Chains, against NumPy.")
    parser.add_argument("--count", type=int, default=40, help="how many random programs, after the known ones")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the first")
    parser.add_argument("--as-it-is", action="store_true", help="without what keeps known defects out")
    parser.add_argument("--seconds", type=float, default=60, help="for one program")
    parser.add_argument("--run", type=int, nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.run:
        run(arguments.seed, *arguments.run, arguments.as_it_is)
        return 0
    found = search(
        arguments.count, arguments.seed, arguments.as_it_is, arguments.seconds, lambda line: print(line, flush=True)
    )
    print(f"jax {jax.__version__}: {arguments.count + len(list(known()))} programs, {found} wrong")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
