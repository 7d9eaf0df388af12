"""Mistakes in array mathematics: which exception, and that it names the user's line."""

import numpy as np
import pytest

from tests.graph.ops.array.array_namespace import namespace
from towerstrat.errors import InvalidArgumentError
from towerstrat.graph.ir.constant_folding import constant_value, constant_value_as_dims
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.tensor_conversion import constant, placeholder
from towerstrat.graph.ops.gradients.gradients import gradients
from towerstrat.graph.runtime.sessions.session import Session
from towerstrat.graph.variables.variables import Variable

TF = namespace()

REFUSED = [
    ("tf.add(x, i)", TypeError),
    ("x + i", TypeError),
    ("x * 'a'", TypeError),
    ("i + 1.5", TypeError),
    ("tf.matmul(x, x)", ValueError),
    ("tf.matmul(x, row)", ValueError),
    ("tf.matmul(tf.ones([2, 3, 4]), tf.ones([3, 4, 5]))", ValueError),
    ("tf.matmul(x, x, True, adjoint_a=True)", ValueError),
    ("x + tf.zeros([4])", ValueError),
    ("tf.reshape(x, [4, 2])", ValueError),
    ("tf.reshape(x, [-1, -1])", ValueError),
    ("tf.reshape(x, [-1, 4])", ValueError),
    ("tf.concat([x, row], 0)", ValueError),
    ("tf.concat([x, x[:, :2]], 0)", ValueError),
    ("tf.concat([x, i], 0)", TypeError),
    ("tf.stack([x, row])", ValueError),
    ("tf.transpose(x, [0, 0])", ValueError),
    ("tf.squeeze(x, [0])", ValueError),
    ("tf.expand_dims(x, 5)", ValueError),
    ("tf.split(x, 2, 1)", ValueError),
    ("tf.unstack(u)", ValueError),
    ("tf.tile(x, [2])", ValueError),
    ("x[5]", ValueError),
    ("x[0, 0, 0]", ValueError),
    ("x[0.5]", TypeError),
    ("x['a']", TypeError),
    ("x[[True, False]]", TypeError),
    ("x[..., ...]", ValueError),
    ("tf.reduce_sum(x, 4)", ValueError),
    ("tf.reduce_sum(x, axis=0, reduction_indices=0)", ValueError),
    ("tf.reduce_all(x)", TypeError),
    ("tf.logical_and(x, x)", TypeError),
    ("tf.sqrt(i)", TypeError),
    ("tf.fill([2], row)", ValueError),
    ("tf.where(x > 0., x)", ValueError),
    ("tf.where(x, x, x)", TypeError),
    ("tf.where(x > 0., x, row)", ValueError),
    ("tf.one_hot(x, 3)", TypeError),
    ("tf.one_hot(i, 3, on_value=1, dtype=tf.float32)", TypeError),
    ("tf.gather(x, x)", TypeError),
    ("tf.cast(tf.constant('a'), tf.float32)", TypeError),
    ("tf.pad(x, [[1, 1]])", ValueError),
    ("tf.pad(x, [[0, 0], [4, 0]], 'REFLECT')", ValueError),
    ("tf.pad(x, [[0, 0], [0, 0]], 'WRAP')", ValueError),
    ("tf.clip_by_value(row, tf.zeros([2, 3]), 1.)", ValueError),
    ("tf.add_n([])", ValueError),
    ("tf.add_n([x, row])", ValueError),
    ("tf.einsum('ij,jk->ik', x, x)", ValueError),
    ("tf.einsum('ij->k', x)", ValueError),
    ("tf.tensordot(x, x, [[0], [0, 1]])", ValueError),
    ("tf.range(0, 5, 0)", ValueError),
    ("tf.ensure_shape(x, [3, 3])", ValueError),
    ("tf.boolean_mask(x, [True, False, True])", ValueError),
    ("tf.slice(x, [0, 4], [1, -1])", ValueError),
    ("tf.gather_nd(x, [[0, 0, 0]])", ValueError),
    ("tf.cross(x[:, :2], x[:, :2])", ValueError),
    ("tf.cholesky(x)", ValueError),
    ("tf.norm(x, 'nuc')", ValueError),
    ("tf.global_norm(x)", TypeError),
    ("tf.scalar_mul(row, x)", ValueError),
]


@pytest.mark.parametrize(("expression", "kind"), REFUSED, ids=[e for e, _ in REFUSED])
def test_mistakes_are_refused_while_building(expression, kind):
    names = {
        "x": placeholder("float32", [2, 3]), "i": placeholder("int32", [2, 3]), "row": placeholder("float32", [3]),
        "u": placeholder("float32", [None, 3]),
    }  # fmt: skip
    with pytest.raises(kind):
        eval(expression, {"tf": TF, "np": np}, names)


def test_build_errors_name_the_users_line():
    with pytest.raises(ValueError, match=r"test_array_errors\.py"):
        TF.matmul(placeholder("float32", [2, 3]), placeholder("float32", [2, 3]))


def test_run_errors_name_the_users_line():
    u = placeholder("float32", None)
    y = TF.reshape(u, [4, 2])
    with pytest.raises(InvalidArgumentError, match=r"test_array_errors\.py"):
        Session().run(y, {u: np.zeros(3, np.float32)})


@pytest.mark.parametrize(
    ("begin", "size", "words"),
    [([0, 2], [1, 2], r"size\[1\] in \[0, 1\], but got 2"), ([-1, 0], [1, 2], r"begin\[0\] in \[0, 2\], but got -1")],
)
def test_a_slice_beyond_the_end_is_built_and_fails_when_it_runs(begin, size, words):
    y = TF.slice(TF.zeros([2, 3]), begin, size)
    assert y.shape.as_list() == size
    with pytest.raises(InvalidArgumentError, match=words):
        Session().run(y)


def test_a_variable_says_how_dimensions_are_transposed():
    order = Variable(np.array([1, 0], np.int32))
    y = TF.transpose(np.ones([2, 3], np.float32), order)
    with Session() as session:
        session.run(order.initializer)
        assert session.run(y).shape == (3, 2)


def test_values_known_while_building():
    x = placeholder("float32", [None, 4])
    sizes = TF.shape(x)
    assert constant_value(sizes) is None
    assert constant_value(sizes[1]) == 4
    assert constant_value(TF.reduce_prod(TF.shape(TF.zeros([2, 3])))) == 6
    assert constant_value(TF.stack([sizes[1] * 2, 3])).tolist() == [8, 3]
    assert constant_value(TF.placeholder_with_default(constant(3), [])) is None
    assert constant_value_as_dims(TF.stack([sizes[0] * 2, -1, 5])) == (None, None, 5)
    assert constant_value_as_dims(TF.concat([sizes[:1], sizes[1:] + 1], 0)) == (None, 5)
    assert constant_value_as_dims(TF.cast(TF.reverse(sizes, [0]), "int64")) == (4, None)
    assert constant_value_as_dims(TF.reshape(TF.gather(sizes, [1, 0, 1]), [3])) == (4, None, 4)
    assert constant_value_as_dims(placeholder("int32", [2])) == (None, None)
    assert constant_value_as_dims(placeholder("int32", None)) is None


def test_variables_have_the_operators_of_tensors():
    v = Variable([1.0, 2.0, 3.0], name="v")
    other = [v + 1, 2.0 * v, v / v, v[1:], -v, v > 1.5, v**2]
    session = Session()
    session.run(v.initializer)
    values = session.run([*other, TF.gather(v, [2, 0])])
    expected = [[2, 3, 4], [2, 4, 6], [1, 1, 1], [2, 3], [-1, -2, -3], [False, True, True], [1, 4, 9], [3, 1]]
    assert [value.tolist() for value in values] == expected


def test_rows_of_a_variable_have_sparse_gradients():
    v = Variable(np.ones((4, 2), np.float32))
    (gradient,) = gradients(TF.gather(v, [1, 1]), v)
    assert gradient.indices.dtype.name == "int32"


def test_a_reduction_uses_up_the_name_of_its_axes():
    TF.reduce_mean(placeholder("float32", [2]))
    assert constant(1.0).op.name == "Const_1"
    assert [op.type for op in get_default_graph().get_operations()] == ["Placeholder", "Mean", "Const"]


def test_indices_fed_pick_without_a_new_program():
    x, k = placeholder("float32", [4, 3]), placeholder("int32", [])
    session = Session()
    array = np.arange(12, dtype=np.float32).reshape(4, 3)
    for index in (0, -1, 2):
        np.testing.assert_array_equal(session.run(x[k, 1:], {x: array, k: index}), array[index, 1:])


def test_a_global_norm_that_is_not_finite_is_an_error():
    x = placeholder("float32", [2])
    clipped, _ = TF.clip_by_global_norm([x], 1.0)
    with pytest.raises(InvalidArgumentError, match="Inf or NaN global norm"):
        Session().run(clipped, {x: np.array([np.inf, 1], np.float32)})
