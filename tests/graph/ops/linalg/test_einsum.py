"""Sums of products: static shapes, unknown sizes and ranks, what is refused; values are among the goldens."""

import numpy as np
import pytest

from towerstrat.errors import InvalidArgumentError
from towerstrat.graph.ir.tensor_conversion import constant, placeholder
from towerstrat.graph.ops.gradients.gradients import gradients
from towerstrat.graph.ops.linalg.einsum import einsum
from towerstrat.graph.runtime.sessions.session import Session

RANDOM = np.random.default_rng(0)
EQUATIONS = [
    ("...ij,...jk->...ik", [5, 1, 2, 3], [4, 3, 2]),
    ("...ij,...jk", [5, 1, 2, 3], [4, 3, 2]),
    ("i...j,j...->...i", [2, 4, 3], [3, 4]),
    ("ab...,...b->a...", [2, 3], [3]),
    ("...,...->...", [2, 1], [3]),
    ("ij,jk->ik", [2, 3], [3, 4]),
]


@pytest.mark.parametrize("known", ["all", "ranks", "nothing"])
@pytest.mark.parametrize(("equation", "left", "right"), EQUATIONS)
def test_values_gradients_and_static_shapes(equation, left, right, known):
    a, b = RANDOM.normal(size=left), RANDOM.normal(size=right)
    expected = np.einsum(equation, a, b)
    shape = {"all": lambda v: v.shape, "ranks": lambda v: [None] * v.ndim, "nothing": lambda v: None}[known]
    x, y = placeholder("float64", shape(a)), placeholder("float64", shape(b))
    z = einsum(equation, x, y)
    assert z.shape.is_compatible_with(expected.shape)
    if known == "all":
        assert z.shape.as_list() == list(expected.shape)
    if known == "ranks":
        assert z.shape.ndims == expected.ndim
    with Session() as session:
        found, *slopes = session.run([z, *gradients(z, [x, y])], {x: a, y: b})
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    step = RANDOM.normal(size=left), RANDOM.normal(size=right)
    along = np.einsum(equation, step[0], b).sum() + np.einsum(equation, a, step[1]).sum()
    np.testing.assert_allclose(sum(np.sum(s * d) for s, d in zip(slopes, step, strict=True)), along, rtol=1e-9)


@pytest.mark.parametrize(
    ("equation", "shapes", "words"),
    [
        ("i.j->i", [[2, 3]], "incorrect format"),
        ("ij->i!", [[2, 3]], "incorrect format"),
        ("...i...->i", [[2, 3]], "more than one ellipsis"),
        ("ij->ii", [[2, 2]], "more than once"),
        ("...i->......", [[2, 2]], "more than once"),
        ("ij->ik", [[2, 2]], "labels in its result"),
        ("ij->...", [[2, 2]], "labels in its result"),
        ("ij,jk", [[2, 2]], "Got 1 arguments"),
        ("ij,ij->ij", [[2, 3], [1, 3]], "both 2 and 1"),
        ("...ij->ij", [[4, 2, 3]], "no ellipsis"),
        ("ijk...->i", [[2, 3]], "at least 3"),
        ("ijk->i", [[2, 3]], "Expected rank 3"),
        ("...i,...i", [[2, 3], [4, 3]], "broadcast"),
    ],
)
def test_what_is_refused_while_the_graph_is_built(equation, shapes, words):
    with pytest.raises(ValueError, match=words):
        einsum(equation, *(placeholder("float32", s) for s in shapes))


@pytest.mark.parametrize(("equation", "right"), [("ij,ij->ij", [1, 3]), ("...i,i->i", [3]), ("ijk,jk->i", [2, 3])])
def test_what_is_refused_when_it_runs(equation, right):
    x, y = placeholder("float32"), placeholder("float32")
    with Session() as session, pytest.raises(InvalidArgumentError, match=equation.split(",")[0]):
        session.run(einsum(equation, x, y), {x: np.ones([2, 3]), y: np.ones(right)})


def test_the_order_of_many_inputs_is_chosen_as_asked():
    xs = [constant(RANDOM.normal(size=s)) for s in ([2, 3], [3, 4], [4, 5])]
    with Session() as session:
        found = session.run([einsum("ij,jk,kl->il", *xs, optimize=how) for how in ("greedy", "optimal", "auto")])
        np.testing.assert_allclose(found[1], found[0])
        np.testing.assert_allclose(found[2], np.linalg.multi_dot(session.run(xs)))
    with pytest.raises(ValueError, match="optimize must be one of"):
        einsum("ij,jk,kl->il", *xs, optimize="slowly")
    with pytest.raises(TypeError, match="optimise"):
        einsum("ij,jk,kl->il", *xs, optimise="greedy")
