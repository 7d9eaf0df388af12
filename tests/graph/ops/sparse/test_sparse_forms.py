"""The sparse family against TensorFlow 1.12: values, gradients and errors, in graphs, eagerly and in functions."""

import json
from pathlib import Path

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
import towerstrat.compat.v2 as tf2
from tests.golden.sparse_forms_cases import CASES, evaluate, plain
from tests.spread import spread
from towerstrat.graph.eager.mode import eager_mode
from towerstrat.graph.runtime.plans.plan import DeviceStage
from towerstrat.graph.runtime.sessions.stage_table import plan_of

GOLDEN = json.loads((Path(__file__).parents[3] / "golden" / "sparse_forms.json").read_text())


def outcome(make):
    try:
        return plain(make())
    except Exception as error:
        return f"raises {type(error).__name__}"


def present(made):
    return [x for x in made if x is not None] if isinstance(made, list) else made


def in_graph(case):
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(present(evaluate(tf, case)))


def eagerly(case):
    with eager_mode():
        return evaluate(tf, case)


def in_function(case):
    with eager_mode():
        return tf2.function(lambda: present(evaluate(tf, case)))()


LATER = "tf.gradients(tf.sparse_tensor_to_dense("
"""1.12 has no gradient there; that of 1.15 and 2.15, which is ours, is in names_v2."""
WAYS = {f.__name__: f for f in (in_graph, eagerly, in_function)}


def alike(found, wanted):
    if isinstance(wanted, list) and found and isinstance(found, list) and found[0] == wanted[0] == "float32":
        assert found[2] == wanted[2]
        np.testing.assert_allclose([float(x) for x in found[1]], [float(x) for x in wanted[1]], rtol=1e-5, atol=1e-6)
    elif isinstance(wanted, list) and isinstance(found, list):
        assert len(found) == len(wanted)
        for mine, theirs in zip(found, wanted, strict=True):
            alike(mine, theirs)
    else:
        assert found == wanted


@spread("case", CASES, every=8)
@pytest.mark.parametrize("way", WAYS)
def test_case(case, way):
    if "tf.gradients" in case and way == "eagerly":
        pytest.skip("tf.gradients is for graphs")
    found, wanted = outcome(lambda: WAYS[way](case)), GOLDEN[case]
    if case.startswith(LATER):
        assert (len(found), wanted) == (1, [])
    elif str(wanted).startswith("raises"):
        assert found in (wanted, "raises ValueError", "raises TypeError", "raises InvalidArgumentError",
                         "raises EagerArgumentError", "raises LookupError"), found  # fmt: skip
    else:
        alike(found, wanted)


def test_products_reductions_and_orders_are_parts_of_compiled_programs():
    x = tf.sparse_placeholder(tf.float32, [3, 4])
    table = tf.ones([4, 2])
    found = [
        tf.sparse_tensor_dense_matmul(x, table),
        tf.sparse_reduce_sum(tf.sparse_transpose(x), 0),
        tf.sparse_softmax(tf.sparse_reshape(x, [2, 6])).values,
        tf.sparse_add(x, tf.ones([3, 4])),
    ]
    feeds = [x.indices, x.values]
    (stage,) = [s for s in plan_of(table.graph, found, feeds).stages if isinstance(s, DeviceStage)]
    assert not stage.eager
    assert plan_of(table.graph, [tf.sparse_add(x, x).values], feeds).stages[-1].eager


@pytest.mark.parametrize(("axis", "parts"), [(0, 2), (1, 3), (-1, 5), (1, 1)])
def test_parts_of_a_split_are_slices_of_the_dense_tensor(axis, parts):
    """The first ``size % parts`` are one longer, as the original has them and ``np.array_split``."""
    dense = np.array([[1, 0, 2, 0, 3], [0, 4, 0, 5, 6]])
    split = tf.sparse_split(sp_input=tf.contrib.layers.dense_to_sparse(dense), num_split=parts, axis=axis)
    with tf.Session() as session:
        found = session.run([tf.sparse_tensor_to_dense(part) for part in split])
    for part, wanted in zip(found, np.array_split(dense, parts, axis), strict=True):
        np.testing.assert_array_equal(part, wanted)
