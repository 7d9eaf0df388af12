"""Every kernel: no 64-bit type that its signature does not have, results of the types its rule says, empty batches."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.golden.array_mathematics_cases import CASES, INPUTS, used
from tests.graph.ops.array.array_namespace import namespace
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor, placeholder
from towerstrat.graph.lowering.lowering import Lowering
from towerstrat.graph.runtime.sessions.session import Session

TF = namespace()
WIDE = {"int64", "uint64", "float64", "complex128"}
INDEX_ONLY = {
    "gather",
    "scatter",
    "scatter-add",
    "scatter-mul",
    "dynamic_slice",
    "dynamic_update_slice",
    "iota",
    "argsort",
}
"""Primitives that JAX gives 64-bit indices of its own."""
DECOMPOSED = {
    "Cholesky",
    "MatrixInverse",
    "MatrixDeterminant",
    "LogMatrixDeterminant",
    "MatrixSolve",
    "MatrixExponential",
}
"""Types whose pivots JAX counts in 64-bit integers; there are few of them."""


def widths(jaxpr):
    for equation in jaxpr.eqns:
        for variable in equation.outvars:
            yield equation.primitive.name, str(getattr(variable.aval, "dtype", ""))
        for value in equation.params.values():
            for inner in value if isinstance(value, list | tuple) else [value]:
                inner = getattr(inner, "jaxpr", inner)
                if hasattr(inner, "eqns"):
                    yield from widths(inner)


def has_kernel(definition):
    return definition.kernel is not None and not definition.dynamic


def operations(cases=tuple(CASES), tf=TF, wanted=has_kernel):
    """One operation of each kind that the cases make, if its definition is wanted."""
    inputs = {n: placeholder(v.dtype, v.shape) for n, v in INPUTS.items()}
    for case in cases:
        eval(case, {"tf": tf, "np": np}, {n: inputs[n] for n in used(case)})
    seen = set()
    for op in get_default_graph().get_operations():
        key = (op.type, tuple((t.dtype, None if t.dims is None else len(t.dims)) for t in op.inputs), str(op.attrs))
        if wanted(op.definition) and key not in seen:
            seen.add(key)
            yield op


def known_values(ops):
    """The values of the operations' inputs, where placeholders are fed with ``INPUTS``."""
    graph = get_default_graph()
    places = [o.outputs[0] for o in graph.get_operations()[: len(INPUTS)]]
    sources = [t for op in ops for t in op.inputs]
    feeds = {t: INPUTS[n] for n, t in zip(INPUTS, places, strict=True)}
    return dict(zip(sources, Session(graph=graph).run(sources, feeds), strict=True))


@pytest.mark.long
def test_no_kernel_widens():
    wrong, checked = [], set()
    ops = list(operations())
    known = known_values(ops)
    for op in ops:
        if op.definition.backward is not None or op.type == "Gradients":
            continue
        dtypes = {t.dtype.name for t in (*op.inputs, *op.outputs)}
        static = {p for p in op.definition.static if p < len(op.inputs)}
        traced = [t for p, t in enumerate(op.inputs) if p not in static]

        def function(*args, op=op, static=static, traced=traced):
            given = dict(zip(traced, args, strict=True))
            lowering = Lowering("cpu")
            lowering.values.update({t: np.asarray(known[t]) for p, t in enumerate(op.inputs) if p in static})
            lowering.values.update(given)
            return lowering.apply(op, [lowering.value(t) for t in op.inputs])

        with jax.enable_x64(True):
            closed = jax.make_jaxpr(function)(*[jnp.asarray(known[t]) for t in traced])
        for tensor, aval in zip(op.outputs, closed.out_avals, strict=True):
            if aval.dtype != tensor.dtype.np:
                wrong.append((op.type, "result", str(aval.dtype), tensor.dtype.name))
            if tensor.dims is not None and not tensor.shape.is_compatible_with(aval.shape):
                wrong.append((op.type, "shape", aval.shape, tensor.dims))
        if not dtypes & WIDE:
            # A float becomes a uint32 by way of int64, of which the original keeps the low bits.
            by_way = op.type == "Cast" and op.outputs[0].dtype.name == "uint32"
            allowed = {"int64"} if op.type in DECOMPOSED or by_way else set()
            found = [(p, d) for p, d in widths(closed.jaxpr) if d in WIDE - allowed and p not in INDEX_ONLY]
            wrong += [(op.type, p, d) for p, d in found]
        checked.add(op.type)
    assert len(checked) > 120
    assert not wrong, "\n".join(map(str, sorted(set(map(str, wrong)))))


EMPTY = [
    "tf.add(e, 1.)", "tf.matmul(e, w)", "tf.reduce_sum(e)", "tf.reduce_mean(e, 1)", "tf.reduce_max(e, 1)",
    "tf.reduce_max(e, 0)", "tf.concat([e, e], 0)", "tf.stack([e, e])", "tf.reshape(e, [-1, 3, 1])",
    "tf.transpose(e)", "tf.argmax(e, 1)", "tf.one_hot(tf.argmax(e, 1), 3)", "tf.gather(e, tf.zeros([0], tf.int32))",
    "tf.gather_nd(w, ids)", "tf.pad(e, [[0, 0], [1, 1]])", "tf.pad(e, [[0, 0], [1, 1]], 'REFLECT')",
    "tf.split(e, 3, 1)[0]", "tf.tile(e, [2, 2])", "tf.cumsum(e, 0, exclusive=True)", "tf.cumprod(e, 1)",
    "tf.where(e > 0., e, e)", "tf.clip_by_value(e, 0., 1.)", "tf.clip_by_norm(e, 1.)",
    "tf.einsum('ij,jk->ik', e, w)", "tf.tensordot(e, w, 1)", "e[:, 1]", "e[::-1]", "tf.reverse(e, [0])",
    "tf.unsorted_segment_sum(e, tf.zeros([0], tf.int32), 2)",
    "tf.unsorted_segment_max(e, tf.zeros([0], tf.int32), 2)", "tf.unstack(e, axis=1)[0]", "tf.expand_dims(e, 0)",
    "tf.squeeze(tf.expand_dims(e, 0), 0)", "tf.broadcast_to(e, [4, 0, 3])", "tf.reduce_logsumexp(e, 1)",
    "tf.matrix_diag(e)", "tf.norm(e, axis=1)", "tf.space_to_depth(tf.reshape(e, [0, 2, 2, 3]), 2)",
    "tf.reverse_sequence(e, tf.zeros([0], tf.int32), 1)", "tf.roll(e, 1, 0)",
    "tf.sequence_mask(tf.zeros([0], tf.int32), 3)",
    "tf.bincount(tf.zeros([0], tf.int32), minlength=2, maxlength=2)",
    "tf.scatter_nd(ids, tf.zeros([0, 3]), [4, 3])", "tf.matrix_inverse(tf.zeros([0, 3, 3]))",
    "tf.batch_gather(e, tf.zeros([0, 2], tf.int32))", "tf.confusion_matrix([], [], 3)",
]  # fmt: skip


def test_empty_batches():
    e, w = placeholder("float32", [None, 3]), placeholder("float32", [3, 3])
    ids = placeholder("int32", [None, 1])
    cases = {c: convert_to_tensor(eval(c, {"tf": TF}, {"e": e, "w": w, "ids": ids})) for c in EMPTY}
    feeds = {e: np.zeros((0, 3), np.float32), w: np.eye(3, dtype=np.float32), ids: np.zeros((0, 1), np.int32)}
    for case, value in Session().run(cases, feeds).items():
        tensor = cases[case]
        assert value.dtype == tensor.dtype.np, case
        assert tensor.shape.is_compatible_with(value.shape), case
        if "mean" not in case:
            assert not np.isnan(value).any(), case
