"""The functions of 2.x compute what the original 2.15 computes, with its gradients.

The golden file is written by ``tests/golden/names_v2.py``.
"""

import numpy as np
import pytest

import towerstrat.compat.v2 as tf
from tests.golden import goldens
from tests.golden.names_v2_cases import CASES, DYNAMIC, INPUTS
from tests.spread import spread
from towerstrat.errors import InvalidArgumentError, UnsupportedError
from towerstrat.graph.eager import mode

GOLDEN = goldens.arrays("names_v2")
PARTS = {case: {name.removeprefix(f"{case}/"): name for name in GOLDEN if name.startswith(f"{case}/")}
         for case in CASES}  # fmt: skip
FLOATS = [name for name, value in INPUTS.items() if value.dtype == np.float32]


def at_once(case):
    """The results of a case, and the gradients of the first one."""
    with mode.eager_mode(), tf.GradientTape() as tape:
        inputs = {name: tf.constant(value) for name, value in INPUTS.items()}
        floats = {name: inputs[name] for name in FLOATS}
        # Such results are computed operation by operation, which has no backward form.
        if case not in DYNAMIC:
            tape.watch(floats)
        results = tf.nest.flatten(eval(case, {"tf": tf, "np": np, **inputs}))
        found = tape.gradient(results[0], floats) if results[0].dtype == tf.float32 else {}
        gradients = {name: tf.convert_to_tensor(g).numpy() for name, g in found.items() if g is not None}
    return [np.asarray(r) for r in results], gradients


@spread("case", CASES)
def test_values_and_gradients_are_those_of_the_original(case):
    results, gradients = at_once(case)
    expected = PARTS[case]
    assert len(results) == sum(name.startswith("value/") for name in expected)
    for i, found in enumerate(results):
        close(found, GOLDEN[expected[f"value/{i}"]])
    for name in FLOATS:
        wanted = expected.get(f"gradient/{name}")
        if wanted is not None and case not in DYNAMIC:
            close(gradients[name], GOLDEN[wanted])
        else:
            assert name not in gradients or not np.any(gradients[name]), f"a gradient of {name}"


def close(found, expected):
    found = np.asarray(found)
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda: tf.zeros([2], layout=1), UnsupportedError, "layout.*jax.sharding"),
    (lambda: tf.linalg.diag([1.0], k=1), UnsupportedError, "k=1"),
    (lambda: tf.math.bincount([1], axis=2), ValueError, "axis=2. Only 0 and -1"),
    (lambda: tf.linspace(0.0, 1.0, 2, axis=1), UnsupportedError, "axis=1"),
    (lambda: tf.nn.dilation2d(tf.ones([1, 2, 2, 1]), tf.ones([2, 2, 1]), [1, 1, 1, 1], "SAME", "NCHW", [1, 1, 1, 1]),
     UnsupportedError, "data_format='NCHW'"),
    (lambda: tf.constant([1, 2], shape=[3]), TypeError, "3 values"),
    (lambda: tf.gather([[1]], [[0]], axis=0, batch_dims=1), ValueError, "axis after"),
    (lambda: tf.nn.dropout(tf.ones([2]), 1.0), ValueError, r"rate in \[0, 1\)"),
    (lambda: tf.nn.max_pool(tf.ones([1, 2, 2, 1]), [2, 2, 2], 1, "SAME"), ValueError, "ksize of 1, 2 or 4"),
    (lambda: tf.sort([1], direction="UP"), ValueError, "ASCENDING"),
    (lambda: tf.initializers.Zeros()([2], partition_shape=[1]), UnsupportedError, "partition_shape"),
    (lambda: tf.initializers.Zeros()([2], other=1), TypeError, "other"),
    (lambda: tf.math.reduce_std([1, 2]), TypeError, "floating"),
    (lambda: tf.name_scope(None), ValueError, "string"),
    (lambda: tf.debugging.assert_scalar([1], message="no"), ValueError, "no"),
])  # fmt: skip
def test_bad_arguments_are_named(call, error, message):
    with mode.eager_mode(), pytest.raises(error, match=message):
        call()


@spread(("made", "low", "high", "deviation"), [
    ("RandomNormal()", -0.3, 0.3, 0.05), ("RandomUniform()", -0.05, 0.05, 0.1 / 12**0.5),
    ("TruncatedNormal()", -0.1, 0.1, 0.044), ("GlorotUniform()", -0.14, 0.14, (2 / 600) ** 0.5),
    ("HeNormal()", -0.2, 0.2, (2 / 300) ** 0.5), ("LecunUniform()", -0.1, 0.1, (1 / 300) ** 0.5),
], every=3)  # fmt: skip
def test_initializers_have_the_spread_of_2_x(made, low, high, deviation):
    with mode.eager_mode():
        values = eval(f"tf.initializers.{made}", {"tf": tf})([300, 300]).numpy()
    assert values.dtype == np.float32
    assert low <= values.min() < values.max() <= high
    assert abs(values.std() / deviation - 1) < 0.03


def test_configurations_of_initializers_are_those_of_2_x():
    assert tf.initializers.RandomNormal().get_config() == {"mean": 0.0, "stddev": 0.05, "seed": None}
    assert tf.initializers.Zeros().get_config() == {}
    assert tf.initializers.HeNormal(seed=3).get_config() == {"seed": 3}
    assert tf.initializers.Orthogonal.from_config({"gain": 2.0, "seed": 1}).gain == 2.0


def test_assertions_and_questions():
    with mode.eager_mode():
        tf.debugging.assert_equal([1, 2], [1, 2], "the same")
        tf.debugging.assert_near(1.0, 1.0 + 1e-7)
        tf.debugging.assert_rank([[1]], 2, "a matrix")
        with pytest.raises(InvalidArgumentError, match="not the same"):
            tf.debugging.assert_equal([1, 2], [1, 3], message="not the same")
        assert tf.is_tensor(tf.zeros([2]))
        assert not tf.is_symbolic_tensor(tf.zeros([2]))
        assert tf.get_static_value(tf.constant([1, 2])).tolist() == [1, 2]
        assert not tf.inside_function()
        seen = []
        tf.function(lambda x: seen.extend([tf.inside_function(), tf.is_symbolic_tensor(x)]) or x, autograph=False)(1.0)
        assert seen[0]
    assert tf.compat.dimension_value(tf.compat.dimension_at_index(tf.TensorShape([None, 3]), 1)) == 3
    assert tf.compat.dimension_value(tf.compat.dimension_at_index(tf.TensorShape(None), 1)) is None


def test_files(tmp_path):
    folder = str(tmp_path / "a" / "b")
    tf.io.gfile.makedirs(folder)
    with tf.io.gfile.GFile(tf.io.gfile.join(folder, "x"), "w") as file:
        file.write("text")
    tf.io.gfile.copy(f"{folder}/x", f"{folder}/y")
    tf.io.gfile.rename(f"{folder}/y", f"{folder}/z")
    assert sorted(tf.io.gfile.listdir(folder)) == ["x", "z"]
    assert tf.io.gfile.exists(f"{folder}/x")
    assert tf.io.gfile.isdir(folder)
    assert tf.io.gfile.stat(f"{folder}/x").length == 4
    assert sorted(tf.io.gfile.glob(f"{folder}/*")) == [f"{folder}/x", f"{folder}/z"]
    tf.io.gfile.remove(f"{folder}/z")
    assert [files for _, _, files in tf.io.gfile.walk(str(tmp_path))][-1] == ["x"]
    tf.io.gfile.rmtree(str(tmp_path / "a"))
    assert not tf.io.gfile.exists(folder)
