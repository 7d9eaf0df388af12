"""The ways in which one function of tensors is computed: ``route(function, values)`` gives what it returns as arrays.

Each route is a function that reads by itself, over the names imported here: a difference shows its source.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import towerstrat.compat.v1 as tf
import towerstrat.compat.v2 as tf2
from towerstrat.graph.eager.mode import eager_mode
from towerstrat.graph.ir import nest
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor

Function = Callable[..., Any]
Values = Sequence[np.ndarray[Any, Any]]
Results = list[np.ndarray[Any, Any]]


def flat(outputs: Any) -> list[Any]:
    """What a function returned as a list of tensors."""
    return [convert_to_tensor(t) for t in nest.flatten(outputs)]


def fetched(outputs: Sequence[Any], feeds: Any = None, variables: Sequence[Any] = ()) -> Results:
    """The outputs by a session of their own; each must be as it was declared."""
    with tf.Session() as session:
        session.run([v.initializer for v in variables])
        results = [np.asarray(r) for r in session.run(list(outputs), feeds)]
    for tensor, result in zip(outputs, results, strict=True):
        assert result.dtype == tensor.dtype.as_numpy_dtype, f"{tensor} is {result.dtype}"
        assert tensor.shape.is_compatible_with(result.shape), f"{tensor} has shape {result.shape}"
    return results


def constant(function: Function, values: Values) -> Results:
    with tf.Graph().as_default():
        return fetched(flat(function(*[tf.constant(v) for v in values])))


def variable(function: Function, values: Values) -> Results:
    with tf.Graph().as_default():
        variables = [tf.Variable(v) for v in values]
        return fetched(flat(function(*[v.read_value() for v in variables])), variables=variables)


def fed(function: Function, values: Values) -> Results:
    with tf.Graph().as_default():
        places = [tf.placeholder(v.dtype, v.shape) for v in values]
        return fetched(flat(function(*places)), dict(zip(places, values, strict=True)))


def fed_any_size(function: Function, values: Values) -> Results:
    with tf.Graph().as_default():
        places = [tf.placeholder(v.dtype, [None] * v.ndim) for v in values]
        return fetched(flat(function(*places)), dict(zip(places, values, strict=True)))


def fed_any_rank(function: Function, values: Values) -> Results:
    with tf.Graph().as_default():
        places = [tf.placeholder(v.dtype) for v in values]
        return fetched(flat(function(*places)), dict(zip(places, values, strict=True)))


def with_others(function: Function, values: Values) -> Results:
    """Fetched together with the same of constants and of variables."""
    with tf.Graph().as_default():
        places = [tf.placeholder(v.dtype, v.shape) for v in values]
        variables = [tf.Variable(v) for v in values]
        found = [flat(function(*inputs)) for inputs in (places, [tf.constant(v) for v in values], variables)]
        feeds = dict(zip(places, values, strict=True))
        return fetched([t for outputs in found for t in outputs], feeds, variables)


def in_branch(function: Function, values: Values) -> Results:
    with tf.Graph().as_default():
        places = [tf.placeholder(v.dtype, v.shape) for v in values]
        pick = tf.placeholder(tf.bool, [])
        like = flat(function(*places))
        found = tf.cond(pick, lambda: flat(function(*places)), lambda: [tf.zeros(t.shape, t.dtype) for t in like])
        return fetched(flat(found), {pick: True, **dict(zip(places, values, strict=True))})


def in_loop(function: Function, values: Values) -> Results:
    with tf.Graph().as_default():
        places = [tf.placeholder(v.dtype, v.shape) for v in values]
        count = tf.placeholder(tf.int32, [])
        like = flat(function(*places))
        start = [tf.constant(0), *[tf.zeros(t.shape, t.dtype) for t in like]]
        body = lambda i, *before: (i + 1, *flat(function(*places)))  # noqa: E731
        found = tf.while_loop(lambda i, *_: i < count, body, start)
        return fetched(found[1:], {count: 1, **dict(zip(places, values, strict=True))})


def eager(function: Function, values: Values) -> Results:
    with eager_mode():
        return [t.numpy() for t in flat(function(*[tf.constant(v) for v in values]))]


def in_function(function: Function, values: Values) -> Results:
    with eager_mode():
        traced = tf2.function(lambda *given: flat(function(*given)), autograph=False)
        return [t.numpy() for t in traced(*[tf.constant(v) for v in values])]


def in_function_of_any_size(function: Function, values: Values) -> Results:
    with eager_mode():
        signature = [tf2.TensorSpec([None] * v.ndim, v.dtype) for v in values]
        traced = tf2.function(lambda *given: flat(function(*given)), signature, autograph=False)
        return [t.numpy() for t in traced(*[tf.constant(v) for v in values])]


def in_function_in_graph(function: Function, values: Values) -> Results:
    with tf.Graph().as_default():
        traced = tf.contrib.eager.defun(lambda *given: flat(function(*given)))
        places = [tf.placeholder(v.dtype, v.shape) for v in values]
        return fetched(flat(traced(*places)), dict(zip(places, values, strict=True)))


def on_two_towers(function: Function, values: Values) -> Results:
    with tf.Graph().as_default():
        resolver = tf.contrib.cluster_resolver.TPUClusterResolver(tpu="")
        distribution = tf.contrib.distribute.TPUStrategy(resolver, 1, num_cores=2)
        places = [tf.placeholder(v.dtype, v.shape) for v in values]
        with distribution.scope():
            found = distribution.call_for_each_tower(lambda: flat(function(*places)))
        parts = [t for output in found for t in distribution.unwrap(output)]
        results = fetched(parts, dict(zip(places, values, strict=True)))
        return [*results[::2], *results[1::2]]


ROUTES: dict[str, Callable[[Function, Values], Results]] = {
    f.__name__: f
    for f in (
        constant, variable, fed, fed_any_size, fed_any_rank, with_others, in_branch, in_loop, eager, in_function,
        in_function_of_any_size, in_function_in_graph, on_two_towers,
    )
}  # fmt: skip
"""All routes by name; those that compute the function several times return its results one after the other."""
