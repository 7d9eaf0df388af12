"""Candidate sampling: a few classes drawn at random, and the losses over them (NCE, sampled softmax).

See https://www.tensorflow.org/extras/candidate_sampling.pdf.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from towerstrat.errors import UnsupportedError
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.op_registry import Signature, define_op
from towerstrat.graph.ir.state import StateVariable
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import Array, float32, float64, int32, int64
from towerstrat.graph.lowering.lowering import Lowering
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.building.op_builder import add
from towerstrat.graph.ops.linalg import products
from towerstrat.graph.ops.math import arithmetic, reductions
from towerstrat.graph.ops.nn import cross_entropy, embedding
from towerstrat.graph.ops.random import stateful
from towerstrat.graph.variables.state_ops import variable_handle
from towerstrat.platform import files

_LEAST = float(np.finfo(np.float32).min)


class CandidateSamples(NamedTuple):
    """Sampled classes, and how often true and sampled ones are expected among so many samples."""

    sampled_candidates: Tensor
    true_expected_count: Tensor
    sampled_expected_count: Tensor


class AccidentalHits(NamedTuple):
    """Sampled classes that are true ones: rows of the true classes, positions of the samples, and weights."""

    indices: Tensor
    ids: Tensor
    weights: Tensor


# ---- distributions over classes: draws, probabilities -----------------------------------------------------------


class _Uniform(NamedTuple):
    """Every class in ``[0, size)`` alike."""

    size: int

    def draw(self, key: Array, count: int) -> Array:
        return jax.random.randint(key, (count,), 0, self.size, np.int64)

    def probability(self, classes: Array) -> Array:
        return jnp.full(classes.shape, 1 / self.size, np.float32)


class _LogUniform(NamedTuple):
    """Zipf's law: ``P(c) = log((c + 2) / (c + 1)) / log(size + 1)``."""

    size: int

    def draw(self, key: Array, count: int) -> Array:
        # Numbers near 0 have the finest steps, and make the classes of the end, of which there are the most.
        bits = jax.random.bits(key, (count,), np.uint32).astype(np.float32)
        place = (bits + np.float32(1)) * np.float32(2**-32)
        found = np.float32(self.size + 1) * jnp.exp(-place * np.float32(np.log(self.size + 1)))
        return jnp.clip(found.astype(np.int64) - 1, 0, self.size - 1)

    def probability(self, classes: Array) -> Array:
        numbers = classes.astype(np.float32)
        return jnp.log1p(1 / (numbers + np.float32(1))) / np.float32(np.log(self.size + 1))


class _Unigram(NamedTuple):
    """Classes ``shard + shards * i`` with the probabilities ``weights[i] / sum(weights)``."""

    size: int
    weights: tuple[float, ...]
    shards: int
    shard: int

    def draw(self, key: Array, count: int) -> Array:
        ends = np.cumsum(self.weights)
        limits = np.minimum(ends[:-1] / ends[-1] * 2**32, 2**32 - 1).astype(np.uint32)
        bits = jax.random.bits(key, (count,), np.uint32)
        places = jnp.searchsorted(limits, bits, side="right").astype(np.int64)
        return jnp.minimum(places, np.flatnonzero(self.weights)[-1]) * self.shards + self.shard

    def probability(self, classes: Array) -> Array:
        each = np.asarray(self.weights, np.float32) / np.float32(sum(self.weights))
        found = jnp.asarray(each)[jnp.clip(classes // self.shards, 0, len(each) - 1)]
        return jnp.where(classes % self.shards == self.shard, found, np.float32(0))


class _Learned(NamedTuple):
    """Every class in ``[0, size)`` with a probability in proportion to its weight, which a variable holds."""

    weights: Array

    @property
    def size(self) -> int:
        return self.weights.shape[0]

    def draw(self, key: Array, count: int) -> Array:
        ends = jnp.cumsum(self.weights)
        # Up to and without the last end, in steps that reach every class.
        places = jax.random.uniform(key, (count,), np.float64) * ends[-1]
        return jnp.clip(jnp.searchsorted(ends, places, side="right"), 0, self.size - 1).astype(np.int64)

    def probability(self, classes: Array) -> Array:
        each = (self.weights / self.weights.sum()).astype(np.float32)
        known = (classes >= 0) & (classes < self.size)
        return jnp.where(known, each[jnp.clip(classes, 0, self.size - 1)], np.float32(0))


# ---- sampling --------------------------------------------------------------------------------------------------


def _distinct(distribution: Any, key: Array, count: int) -> tuple[Array, Any]:
    """Draws until ``count`` different classes are there: the classes in order, and the number of draws."""

    def more(carry: Any) -> Any:
        key, seen, found, number, tries = carry
        key, own = jax.random.split(key)
        drawn = distribution.draw(own, count)
        order = jnp.argsort(drawn, stable=True)
        ranked = drawn[order]
        first = jnp.concatenate([np.ones(1, bool), ranked[1:] != ranked[:-1]])
        new = jnp.zeros(count, bool).at[order].set(first) & ~seen[drawn]
        place = number + jnp.cumsum(new, dtype=np.int32)
        found = found.at[jnp.where(new, place - 1, count)].set(drawn, mode="drop")
        # The draw that completed the classes is the last one that counts.
        enough = place >= count
        tries += jnp.where(enough.any(), jnp.argmax(enough).astype(np.int32) + 1, np.int32(count))
        return key, seen.at[drawn].set(True), found, place[-1], tries

    start = (key, jnp.zeros(distribution.size, bool), jnp.zeros(count, np.int64), np.int32(0), np.int32(0))
    *_, found, _, tries = lax.while_loop(lambda carry: carry[3] < count, more, start)
    return found, tries


def _sample(key: Array, true: Array, *, distribution: Any, num_sampled: int, unique: bool) -> tuple[Array, ...]:
    tries: Any
    if unique:
        sampled, tries = _distinct(distribution, key, num_sampled)
    else:
        sampled, tries = distribution.draw(key, num_sampled), np.int32(num_sampled)

    def expected(classes: Array) -> Array:
        each = distribution.probability(classes)
        of_tries = -jnp.expm1(tries.astype(np.float32) * jnp.log1p(-each))
        return jnp.where(tries == num_sampled, each * np.float32(num_sampled), of_tries)

    return sampled, expected(true), expected(sampled)


def _sample_rule(inputs: Sequence[Any], attrs: Mapping[str, Any]) -> list[Signature]:
    count = (attrs["num_sampled"],)
    return [Signature(int64, count), Signature(float32, inputs[-1].dims), Signature(float32, count)]


define_op("CandidateSampler", _sample_rule, _sample, random=True, differentiable=False)


def _learn(lowering: Lowering, op: Operation) -> tuple[Array, ...]:
    """Samples by the weights of the classes so far, then counts the true ones."""
    cell = op.inputs[0].op.attrs["cell"]
    weights = jnp.asarray(lowering.state.read(cell, op))
    true = jnp.asarray(lowering.value(op.inputs[1]))
    attrs = {name: op.attrs[name] for name in ("num_sampled", "unique")}
    lowering.state.write(cell, weights.at[true.ravel()].add(1, mode="drop", wrap_negative_indices=False))
    return _sample(lowering.random.key(op), true, distribution=_Learned(weights), **attrs)


define_op("LearnedUnigramCandidateSampler", _sample_rule, lower=_learn, random=True, reads=True, writes=True,
       stateful=True, differentiable=False)  # fmt: skip


def _true(classes: Any, num_true: int) -> Tensor:
    """True classes as int64. Raises ValueError where they are not ``[batch, num_true]``."""
    tensor = convert_to_tensor(classes, int64, name="true_classes")
    if not tensor.shape.is_compatible_with([None, num_true]):
        raise ValueError(f"Expected true_classes of shape [batch_size, num_true={num_true}], got {tensor.shape}.")
    return tensor


def _sampled(
    true_classes: Any, num_true: int, num_sampled: int, unique: bool, distribution: Any, classes: int, seed: Any,
    name: str,
) -> CandidateSamples:  # fmt: skip
    if unique and num_sampled > classes:
        raise ValueError(f"Sampler's range is too small: {num_sampled} different samples of {classes} classes.")
    attrs = {
        "distribution": distribution,
        "num_sampled": int(num_sampled),
        "unique": bool(unique),
        "seeds": stateful.seeds(seed),
    }
    return CandidateSamples(*add("CandidateSampler", [_true(true_classes, num_true)], attrs, name))


def uniform_candidate_sampler(
    true_classes: Any, num_true: int, num_sampled: int, unique: bool, range_max: int, seed: int | None = None,
    name: str | None = None,
) -> CandidateSamples:  # fmt: skip
    """Classes in ``[0, range_max)`` drawn alike.

    Args:
      true_classes: int64 ``[batch, num_true]``.
      num_sampled: how many; one sample stands for the whole batch.
      unique: draw until so many different classes are there.

    Raises:
      ValueError: more different samples than classes, or true classes of another shape.
    """
    made = _Uniform(int(range_max))
    return _sampled(
        true_classes, num_true, num_sampled, unique, made, made.size, seed, name or "UniformCandidateSampler"
    )


def log_uniform_candidate_sampler(
    true_classes: Any, num_true: int, num_sampled: int, unique: bool, range_max: int, seed: int | None = None,
    name: str | None = None,
) -> CandidateSamples:  # fmt: skip
    """Classes in ``[0, range_max)`` by Zipf's law, for classes in the order of falling frequency.

    ``P(c) = log((c + 2) / (c + 1)) / log(range_max + 1)``. Other arguments as of ``uniform_candidate_sampler``.
    """
    made = _LogUniform(int(range_max))
    return _sampled(
        true_classes, num_true, num_sampled, unique, made, made.size, seed, name or "LogUniformCandidateSampler"
    )


def fixed_unigram_candidate_sampler(
    true_classes: Any, num_true: int, num_sampled: int, unique: bool, range_max: int, vocab_file: str = "",
    distortion: float = 1.0, num_reserved_ids: int = 0, num_shards: int = 1, shard: int = 0,
    unigrams: Sequence[float] = (), seed: int | None = None, name: str | None = None,
) -> CandidateSamples:  # fmt: skip
    """Classes by given counts or probabilities.

    Args:
      vocab_file: a file whose lines end in the counts, behind the last comma; or
      unigrams: the counts. Both begin with class ``num_reserved_ids``; those before are never drawn.
      distortion: the power that counts are raised to: 1 takes them as they are, 0 draws all classes alike.
      num_shards, shard: draw only classes c with ``c % num_shards == shard``.

    Other arguments as of ``uniform_candidate_sampler``.

    Raises:
      ValueError: both or none of ``vocab_file`` and ``unigrams``, or more or fewer counts than ``range_max``.
    """
    if bool(vocab_file) == bool(len(unigrams)):
        raise ValueError("Must provide exactly one of vocab_file and unigrams.")
    counts = _counts(vocab_file) if vocab_file else [float(u) for u in unigrams]
    weights = [0.0] * num_reserved_ids + [count**distortion for count in counts]
    if len(weights) != range_max:
        raise ValueError(f"range_max is {range_max}, but there are {len(weights)} classes, reserved ones included.")
    own = tuple(weights[shard::num_shards])
    drawn = sum(weight > 0 for weight in own)
    made = _Unigram(int(range_max), own, num_shards, shard)
    return _sampled(
        true_classes, num_true, num_sampled, unique, made, drawn, seed, name or "FixedUnigramCandidateSampler"
    )


def _counts(path: str) -> list[float]:
    with files.GFile(path) as file:
        return [float(line.rsplit(",", 1)[-1]) for line in file.read().splitlines() if line.strip()]


def learned_unigram_candidate_sampler(
    true_classes: Any, num_true: int, num_sampled: int, unique: bool, range_max: int, seed: int | None = None,
    name: str | None = None,
) -> CandidateSamples:  # fmt: skip
    """Classes in ``[0, range_max)`` as often as they were true ones before, and once more.

    Each operation counts for itself, in a session; saving does not keep the counts. In towers each tower counts its
    own. Arguments as of ``uniform_candidate_sampler``.

    Raises:
      UnsupportedError: operations are executed eagerly, where none lives longer than its call.
    """
    graph = get_default_graph()
    if graph.executing_eagerly:
        raise UnsupportedError(
            "tf.nn.learned_unigram_candidate_sampler counts the true classes of an operation: use it in a graph, or in "
            "a tf.function."
        )
    if unique and num_sampled > range_max:
        raise ValueError(f"Sampler's range is too small: {num_sampled} different samples of {range_max} classes.")
    name = graph.unique_name(name or "LearnedUnigramCandidateSampler")
    cell = StateVariable(f"{name}/weights", float64, (range_max,), graph.axis, np.ones(range_max, np.float64))
    inputs = [variable_handle(cell, f"{name}/weights"), _true(true_classes, num_true)]
    attrs = {"num_sampled": int(num_sampled), "unique": bool(unique), "seeds": stateful.seeds(seed)}
    return CandidateSamples(*add("LearnedUnigramCandidateSampler", inputs, attrs, f"{name}/"))


def all_candidate_sampler(
    true_classes: Any, num_true: int, num_sampled: int, unique: bool, seed: int | None = None,
    name: str | None = None,
) -> CandidateSamples:  # fmt: skip
    """All ``num_sampled`` classes, each expected once; ``unique`` and ``seed`` change nothing."""
    with get_default_graph().name_scope(name or "AllCandidateSampler"):
        true = _true(true_classes, num_true)
        everyone = arrays.ones([num_sampled], float32)
        return CandidateSamples(arrays.range(num_sampled, dtype=int64), arrays.ones_like(true, float32), everyone)


def compute_accidental_hits(
    true_classes: Any, sampled_candidates: Any, num_true: int, seed: int | None = None, name: str | None = None
) -> AccidentalHits:
    """Positions of samples, which are different from each other, that are true classes.

    Args:
      true_classes: int64 ``[batch, num_true]``.
      sampled_candidates: int64 ``[num_sampled]``.
      seed: changes nothing.

    Returns:
      int32 rows of ``true_classes``, int64 positions in ``sampled_candidates``, and as many times the least float32.
    """
    with get_default_graph().name_scope(name or "ComputeAccidentalHits"):
        sampled = convert_to_tensor(sampled_candidates, int64, name="sampled_candidates")
        hits = arithmetic.equal(arrays.expand_dims(_true(true_classes, num_true), 2), sampled)
        rows, _, places = arrays.unstack(arrays.where(hits), num=3, axis=1)
        return AccidentalHits(arithmetic.cast(rows, int32), places, arrays.fill(arrays.shape(rows), _LEAST))


# ---- losses ----------------------------------------------------------------------------------------------------


def _row_sums(x: Tensor) -> Tensor:
    return reductions.reduce_sum(x, 1)


def _logits(
    weights: Any, biases: Any, labels: Any, inputs: Any, num_sampled: int, num_classes: int, num_true: int,
    sampled_values: Any, remove_accidental_hits: bool, partition_strategy: str, seed: Any,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Logits of the true and the sampled classes less the logarithms of their expected counts, and their labels."""
    labels = arithmetic.cast(convert_to_tensor(labels), int64)
    inputs = convert_to_tensor(inputs)
    flat = arrays.reshape(labels, [-1])
    if sampled_values is None:
        sampled_values = log_uniform_candidate_sampler(labels, num_true, num_sampled, True, num_classes, seed)
    sampled, true_expected, sampled_expected = (arrays.stop_gradient(convert_to_tensor(s)) for s in sampled_values)
    sampled = arithmetic.cast(sampled, int64)
    ids = arrays.concat([flat, sampled], 0)
    count = arrays.shape(flat)[0]

    def split(table: Any) -> tuple[Tensor, Tensor]:
        rows = embedding.embedding_lookup(table, ids, partition_strategy=partition_strategy)
        return rows[:count], rows[count:]

    true_w, sampled_w = split(weights)
    true_b, sampled_b = split(biases)
    rows = arrays.reshape(true_w, arrays.concat([[-1, num_true], arrays.shape(true_w)[1:2]], 0))
    true = reductions.reduce_sum(arithmetic.multiply(arrays.expand_dims(inputs, 1), rows), 2)
    true = true + arrays.reshape(true_b, [-1, num_true])
    others = products.matmul(inputs, sampled_w, transpose_b=True) + sampled_b
    if remove_accidental_hits:
        hits = reductions.reduce_any(arithmetic.equal(arrays.expand_dims(labels, 2), sampled), 1)
        others += arithmetic.cast(hits, others.dtype) * _LEAST
    true -= arithmetic.cast(arithmetic.log(true_expected), true.dtype)
    others -= arithmetic.cast(arithmetic.log(sampled_expected), others.dtype)
    shares = arrays.concat([arrays.ones_like(true) / num_true, arrays.zeros_like(others)], 1)
    return arrays.concat([true, others], 1), shares


def nce_loss(
    weights: Any, biases: Any, labels: Any, inputs: Any, num_sampled: int, num_classes: int, num_true: int = 1,
    sampled_values: Any = None, remove_accidental_hits: bool = False, partition_strategy: str = "mod",
    name: str | None = "nce_loss",
) -> Tensor:  # fmt: skip
    """Noise-contrastive estimation (Gutmann and Hyvarinen 2010): logistic losses of the true and of sampled classes.

    Args:
      weights, biases: ``[num_classes, dim]`` and ``[num_classes]``, or lists of their parts.
      labels: int64 ``[batch, num_true]``.
      inputs: ``[batch, dim]``.
      num_sampled: how many other classes the whole batch is compared with.
      sampled_values: what a candidate sampler gave; default ``log_uniform_candidate_sampler``, of different classes.
      remove_accidental_hits: leave out samples that are true classes.
      partition_strategy: as of ``embedding_lookup``.

    Returns:
      ``[batch]``.
    """
    with get_default_graph().name_scope(name or "nce_loss"):
        logits, shares = _logits(weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values,
                                 remove_accidental_hits, partition_strategy, None)  # fmt: skip
        return _row_sums(
            cross_entropy.sigmoid_cross_entropy_with_logits(labels=shares, logits=logits, name="sampled_losses")
        )


def sampled_softmax_loss(
    weights: Any, biases: Any, labels: Any, inputs: Any, num_sampled: int, num_classes: int, num_true: int = 1,
    sampled_values: Any = None, remove_accidental_hits: bool = True, partition_strategy: str = "mod",
    name: str | None = "sampled_softmax_loss", seed: int | None = None,
) -> Tensor:  # fmt: skip
    """Cross entropy of a softmax over the true and sampled classes only (Jean et al. 2014, arxiv.org/abs/1412.2007).

    Args:
      seed: of the default sampler. Other arguments as of ``nce_loss``.

    Returns:
      ``[batch]``.
    """
    with get_default_graph().name_scope(name or "sampled_softmax_loss"):
        logits, shares = _logits(weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values,
                                 remove_accidental_hits, partition_strategy, seed)  # fmt: skip
        labels = arrays.stop_gradient(shares, name="labels_stop_gradient")
        return cross_entropy.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits)
