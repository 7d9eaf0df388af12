# ruff: noqa: UP031
"""Programs with sparse tensors that the original and ours both run: functions of (tf, session) that return plain facts.

They run under Python 3.6 too.
"""

import numpy as np

IDS = ([[0, 0], [0, 2], [1, 0], [3, 1], [3, 2]], [1, 3, 0, 1, 1], [4, 3])
WEIGHTS = (IDS[0], [2.0, 0.5, 1.0, 3.0, -1.0], IDS[2])
TABLE = (np.arange(12).reshape(4, 3) / 8).astype("float32")


def refused(function):
    try:
        function()
    except Exception as error:
        return type(error).__name__


def plain(value):
    """Lists of numbers, of an array, tensor value or IndexedSlices."""
    parts = value if isinstance(value, tuple) else (value,)
    return [np.asarray(p, None if p is None else np.asarray(p).dtype).tolist() for p in parts if p is not None]


def combined(tf, session, table, dense=False, **kwargs):
    """The rows of all examples for each combiner, and the gradients of tables as rows, or ``dense``."""
    found = {}
    for combiner in ("sum", "mean", "sqrtn"):
        for weights in (None, tf.SparseTensor(*WEIGHTS)):
            session.run(tf.global_variables_initializer())
            rows = tf.nn.embedding_lookup_sparse(table, tf.SparseTensor(*IDS), weights, combiner=combiner, **kwargs)
            factors = tf.constant([[1.0], [2.0], [4.0], [8.0]], rows.dtype)
            slopes = tf.gradients(rows * factors, table)
            kinds = [type(s).__name__ for s in slopes]
            slopes = [tf.convert_to_tensor(s) for s in slopes] if dense else slopes
            values = [plain(v) for v in session.run([rows] + slopes)]
            found["%s %s" % (combiner, weights is not None)] = [
                rows.dtype.name, rows.shape.as_list()[1:], kinds, values,
            ]  # fmt: skip
    return found


def of_a_variable(tf, session):
    return combined(tf, session, tf.get_variable("table", initializer=TABLE, use_resource=True))


def of_clipped_rows(tf, session):
    return combined(tf, session, tf.get_variable("table", initializer=TABLE, use_resource=True), max_norm=1.0)


def of_half_precision(tf, session):
    return combined(tf, session, tf.constant(TABLE, tf.float16))


def of_parts(tf, session):
    parts = tf.get_variable(
        "parts", initializer=tf.constant(TABLE), partitioner=tf.fixed_size_partitioner(2), use_resource=True
    )
    return combined(tf, session, list(parts), dense=True, partition_strategy="div")


def names_and_refusals(tf, session):
    ids, table = tf.SparseTensor(*IDS), tf.constant(TABLE)
    weights = tf.SparseTensor(*WEIGHTS)
    look = tf.nn.embedding_lookup_sparse
    return [
        look(table, ids, None).name, look(table, ids, None, combiner="sum", name="own").name,
        look(table, ids, weights).name, look(table, ids, weights, combiner="sqrtn").name,
        refused(lambda: look(table, ids, None, combiner="max")), refused(lambda: look(table, ids.values, None)),
        refused(lambda: look(table, ids, weights.values)),
        refused(lambda: look(table, ids, tf.SparseTensor([[0, 0]], [1.0], [4, 3]))),
    ]  # fmt: skip


def fed(tf, session):
    x = tf.sparse_placeholder(tf.float32, name="x")
    y = tf.sparse_placeholder(tf.int32, [None, 3])
    z = tf.sparse_placeholder(tf.float32, [2, 3], name="z")
    value = tf.SparseTensorValue([[0, 1], [1, 2]], np.array([1.5, 2.5], "float32"), [2, 3])
    found = [[t.name for t in (p.indices, p.values, p.dense_shape)] for p in (x, y, z)]
    found += [[p.indices.shape.as_list(), p.get_shape().ndims] for p in (x, y, z)]
    found += [plain(session.run(x, {x: value})), plain(session.run(x, {x: tuple(value)}))]
    found.append(plain(session.run(y, {y: ([[0, 0]], [7], [5, 3])})))
    found.append(plain(session.run(z, {z.values: value.values, z.indices: value.indices})))
    found.append(plain(session.run(tf.sparse_tensor_to_dense(x), {x: value})))
    found.append(refused(lambda: session.run(x.values)))
    rows = tf.nn.embedding_lookup_sparse(TABLE, tf.sparse_placeholder(tf.int64, name="ids"), None, combiner="sum")
    ids = [session.graph.get_tensor_by_name("ids/%s:0" % part) for part in ("indices", "values", "shape")]
    for given in (IDS, ([[0, 0]], [2], [1, 1])):
        found.append(plain(session.run(rows, dict(zip(ids, given)))))  # noqa: B905
    return found


CASES = [of_a_variable, of_clipped_rows, of_half_precision, of_parts, names_and_refusals, fed]
