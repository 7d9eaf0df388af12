"""Expressions on sparse tensors over ``tf`` that are compared with 1.12. ``tf.gradients`` of some are among them.

``A`` and ``B`` are sparse matrices ``[3, 4]``, ``C`` one of rank 3, ``M`` an unordered one, ``S`` one of strings.
"""

import numpy as np

A = ([[0, 1], [0, 3], [2, 0]], np.array([1.5, -2.0, 4.0], "float32"), [3, 4])
B = ([[0, 0], [0, 1], [2, 0], [2, 3]], np.array([0.5, -1.5, 2.0, 1.0], "float32"), [3, 4])
C = ([[0, 0, 1], [0, 1, 0], [1, 2, 1]], np.array([1, 2, 3], "int32"), [2, 3, 2])
M = ([[2, 0], [0, 3], [0, 1]], np.array([4.0, -2.0, 1.5], "float32"), [3, 4])
S = ([[0, 0], [2, 1]], np.array([b"a", b"b"], object), [4, 2])
EMPTY = (np.zeros([0, 2], "int64"), np.zeros([0], "float32"), [3, 4])
IDS = ([[0, 0], [0, 1], [2, 0]], np.array([3, 1, 0], "int64"), [3, 2])
D = (np.arange(12).reshape(3, 4) / 4 - 1).astype("float32")
W = (np.arange(8).reshape(4, 2) - 3).astype("float32")

SPARSE = {"A": A, "B": B, "C": C, "M": M, "S": S, "EMPTY": EMPTY, "IDS": IDS}

CASES = [
    "tf.sparse_add(A, B)",
    "tf.sparse_add(A, A)",
    "tf.sparse_add(A, B, 1.0)",
    "tf.sparse_add(A, EMPTY)",
    "tf.sparse_add(A, D)",
    "tf.sparse_add(D, A)",
    "tf.sparse_add(A, C)",
    "tf.sparse_add(A, IDS)",
    "tf.sparse_add(D, D)",
    "tf.sparse_add(A, W)",
    "tf.sparse_add(C, C)",
    "tf.sparse_maximum(A, B)",
    "tf.sparse_minimum(A, B)",
    "tf.sparse_minimum(A, EMPTY)",
    "tf.sparse_maximum(A, IDS)",
    "A * D",
    "D2 * A",
    "A * 2.0",
    "A / D[0]",
    "A / D",
    "A * W",
    "tf.sparse_tensor_dense_matmul(A, W)",
    "tf.sparse_tensor_dense_matmul(M, W)",
    "tf.sparse_tensor_dense_matmul(EMPTY, W)",
    "tf.sparse_tensor_dense_matmul(A, tf.transpose(W), adjoint_b=True)",
    "tf.sparse_tensor_dense_matmul(A, D, adjoint_a=True)",
    "tf.sparse_tensor_dense_matmul(A, D)",
    "tf.sparse_tensor_dense_matmul(tf.SparseTensor([[0, 5]], [1.0], [3, 4]), W)",
    "tf.sparse_tensor_dense_matmul(C, W)",
    "tf.sparse_reorder(M)",
    "tf.sparse_reorder(C)",
    "tf.sparse_reorder(EMPTY)",
    "tf.sparse_transpose(A)",
    "tf.sparse_transpose(C)",
    "tf.sparse_transpose(C, [1, 0, 2])",
    "tf.sparse_transpose(S)",
    "tf.sparse_reshape(A, [2, 6])",
    "tf.sparse_reshape(A, [-1])",
    "tf.sparse_reshape(C, [2, -1])",
    "tf.sparse_reshape(C, [3, 2, -1])",
    "tf.sparse_reshape(A, [5, 2])",
    "tf.sparse_reshape(A, [-1, -1])",
    "tf.sparse_reshape(A, [-1, 5])",
    "tf.sparse_reshape(S, [2, 4])",
    "tf.sparse_reset_shape(A)",
    "tf.sparse_reset_shape(A, [4, 4])",
    "tf.sparse_reset_shape(A, [2, 4])",
    "tf.sparse_reset_shape(A, [4, 4, 1])",
    "tf.sparse_reset_shape(EMPTY)",
    "tf.sparse_concat(0, [A, B])",
    "tf.sparse_concat(1, [A, B])",
    "tf.sparse_concat(-1, [A, IDS])",
    "tf.sparse_concat(1, [A, tf.cast(IDS, tf.float32)])",
    "tf.sparse_concat(0, [A, tf.cast(IDS, tf.float32)])",
    "tf.sparse_concat(0, [A, tf.cast(IDS, tf.float32)], expand_nonconcat_dim=True)",
    "tf.sparse_concat(1, [S, S])",
    "tf.sparse_concat(2, [A, A])",
    "tf.sparse_concat(0, [A])",
    "tf.sparse_concat(0, A)",
    "tf.sparse_split(sp_input=A, num_split=2, axis=1)",
    "tf.sparse_split(sp_input=A, num_split=3, axis=1)",
    "tf.sparse_split(sp_input=A, num_split=2, axis=0)",
    "tf.sparse_split(sp_input=A, num_split=5, axis=1)",
    "tf.sparse_split(sp_input=A, num_split=0, axis=1)",
    "tf.sparse_split(sp_input=S, num_split=2, axis=0)",
    "tf.sparse_slice(A, [0, 1], [2, 3])",
    "tf.sparse_slice(A, [0, 1], [2, 9])",
    "tf.sparse_slice(C, [0, 0, 1], [2, 3, 1])",
    "tf.sparse_slice(S, [2, 0], [2, 2])",
    "tf.sparse_retain(A, [True, False, True])",
    "tf.sparse_retain(S, [False, True])",
    "tf.sparse_retain(A, [True, False])",
    "tf.sparse_reduce_sum(A)",
    "tf.sparse_reduce_sum(A, 1)",
    "tf.sparse_reduce_sum(A, -1, keepdims=True)",
    "tf.sparse_reduce_sum(C, [0, 2])",
    "tf.sparse_reduce_sum(C, 1)",
    "tf.sparse_reduce_sum(A, [0, 1], keepdims=True)",
    "tf.sparse_reduce_sum(A, reduction_axes=[0])",
    "tf.sparse_reduce_sum(A, 2)",
    "tf.sparse_reduce_sum(EMPTY, 1)",
    "tf.sparse_reduce_max(A, 1)",
    "tf.sparse_reduce_max(B)",
    "tf.sparse_reduce_max(C, 0, keepdims=True)",
    "tf.sparse_reduce_max(tf.SparseTensor([[0, 1], [0, 3]], [-1.5, -2.0], [3, 4]), 1)",
    "tf.sparse_reduce_sum_sparse(A, 1)",
    "tf.sparse_reduce_sum_sparse(C, [0, 2])",
    "tf.sparse_reduce_sum_sparse(A, 0, keepdims=True)",
    "tf.sparse_reduce_max_sparse(A, 1)",
    "tf.sparse_softmax(A)",
    "tf.sparse_softmax(B)",
    "tf.sparse_softmax(tf.cast(C, tf.float64))",
    "tf.sparse_fill_empty_rows(A, 7.0)",
    "tf.sparse_fill_empty_rows(C, 9)",
    "tf.sparse_fill_empty_rows(S, 'x')",
    "tf.sparse_fill_empty_rows(EMPTY, 0.5)",
    "tf.sparse_merge(IDS, A, 5)",
    "tf.sparse_merge([IDS, IDS], A, [5, 6])",
    "tf.sparse_merge([IDS, IDS], A, [5])",
    "tf.sparse_merge(A, A, 5)",
    "tf.sparse_to_indicator(IDS, 5)",
    "tf.sparse_to_indicator(IDS, 2)",
    "tf.sparse_tensor_to_dense(tf.sparse.eye(2, 3))",
    "tf.sparse.eye(3)",
    "tf.sparse.expand_dims(A)",
    "tf.sparse.expand_dims(A, 0)",
    "tf.sparse.expand_dims(A, -2)",
    "tf.sparse.expand_dims(A, 4)",
    "tf.sparse_mask(tf.IndexedSlices(D2, tf.constant([1, 2, 5])), [2, 7])",
    "tf.sparse.cross([IDS, tf.constant([['x', 'y'], ['z', 'w'], ['u', 'v']])])",
    "tf.sparse.cross([S, S, tf.constant([[1], [2], [3], [4]])])",
    "tf.sparse.cross(S)",
    "tf.sparse.cross([S, tf.constant([[1], [2]])])",
    "tf.sparse.cross_hashed([S, tf.constant([[1, 5], [2, -1], [3, 7], [4, 0]])])",
    "tf.sparse.cross_hashed([S, tf.constant([['a'], ['bc'], ['d'], ['']])], num_buckets=1000)",
    "tf.sparse.cross_hashed([S, S], num_buckets=100, hash_key=956888297470)",
    "tf.sparse.cross([tf.constant([['a'], ['b'], ['c'], ['d']]), S, tf.constant([[1], [2], [3], [4]]), S])",
    "tf.sparse.cross([tf.constant([[1.5], [-2.5], [3], [4]]), S])",
    "tf.sparse.cross_hashed([tf.constant([['a'], ['b'], ['c'], ['d']]), S], num_buckets=1000)",
    "tf.sparse.cross_hashed([tf.constant([['a'], ['b'], ['c'], ['d']]), S], num_buckets=1000, hash_key=0)",
    "tf.sets.set_intersection([[1, 2, 3], [4, 4, 5]], [[3, 1, 9], [5, 6, 7]])",
    "tf.sets.set_union([['b', 'a']], [['c', 'a']])",
    "tf.sets.set_difference(IDS, tf.constant([[3], [1], [1]], tf.int64))",
    "tf.sets.set_difference([[1, 2]], [[2, 5]], aminusb=False)",
    "tf.sets.set_union(IDS, IDS)",
    "tf.sets.set_intersection([[1, 2]], [[1], [2]])",
    "tf.sets.set_union([[1.5]], [[2.5]])",
    "tf.sets.set_size(IDS)",
    "tf.sets.set_size(C)",
    "tf.sets.set_size([[1, 2]])",
    "tf.edit_distance(S, tf.SparseTensor([[0, 0], [0, 1], [1, 0]], ['a', 'c', 'd'], [4, 2]))",
    "tf.edit_distance(IDS, tf.SparseTensor([[0, 0], [2, 0]], tf.constant([1, 0], tf.int64), [3, 1]), False)",
    "tf.edit_distance(C, C)",
    "tf.edit_distance(S, IDS)",
    "tf.edit_distance(S, 1)",
    "tf.nn.safe_embedding_lookup_sparse(W2, IDS)",
    "tf.nn.safe_embedding_lookup_sparse(W2, IDS, default_id=2)",
    "tf.nn.safe_embedding_lookup_sparse(W2, IDS, tf.SparseTensor(IDS.indices, [2.0, -1.0, 0.5], [3, 2]))",
    "tf.nn.safe_embedding_lookup_sparse(W2, IDS, tf.SparseTensor(IDS.indices, [2.0, -1.0, 0.5], [3, 2]), 'sum')",
    "tf.nn.safe_embedding_lookup_sparse(W2, tf.SparseTensor([[0, 0, 1], [1, 0, 0]], [1, -1], [2, 1, 2]))",
    "tf.nn.safe_embedding_lookup_sparse([], IDS)",
    "tf.convert_to_tensor_or_sparse_tensor(A)",
    "tf.convert_to_tensor_or_sparse_tensor(A, tf.int32)",
    "tf.convert_to_tensor_or_sparse_tensor([1, 2])",
    "tf.square(A)", "tf.abs(A)", "tf.negative(A)", "tf.sign(A)", "tf.sqrt(B)", "tf.erf(A)", "tf.tanh(A)",
    "tf.size(A)", "tf.rank(C)", "tf.shape(C)", "tf.cast(A, tf.int32)",
    "tf.gradients(tf.sparse_add(A, B).values * [1.0, 2.0, 3.0, 4.0, 5.0], [A.values, B.values])",
    "tf.gradients(tf.sparse_add(A, B, 1.0).values, [A.values, B.values])",
    "tf.gradients(tf.sparse_add(A, D2) * D, [A.values, D2])",
    "tf.gradients((A * D2).values * [1.0, 2.0, 3.0], [A.values])",
    "tf.gradients(tf.sparse_tensor_dense_matmul(A, W2) * [[1.0, 2.0]], [A.values, W2])",
    "tf.gradients(tf.sparse_tensor_dense_matmul(A, D2, adjoint_a=True), [A.values, D2])",
    "tf.gradients(tf.sparse_reorder(M).values * [1.0, 2.0, 3.0], [M.values])",
    "tf.gradients(tf.sparse_concat(1, [A, B]).values * [1., 2., 3., 4., 5., 6., 7.], [A.values, B.values])",
    "tf.gradients(tf.sparse_slice(A, [0, 1], [2, 3]).values, [A.values])",
    "tf.gradients(tf.sparse_reduce_sum(A, 1) * [1.0, 2.0, 3.0], [A.values])",
    "tf.gradients(tf.sparse_softmax(A).values * [1.0, 2.0, 3.0], [A.values])",
    "tf.gradients(tf.sparse_fill_empty_rows(A, V)[0].values * [1.0, 2.0, 3.0, 4.0], [A.values, V])",
    "tf.gradients(tf.sparse_retain(A, [True, False, True]).values, [A.values])",
    "tf.gradients(tf.sparse_tensor_to_dense(tf.sparse_transpose(A)) * W2[:, :1], [A.values])",
]  # fmt: skip


def plain(value):
    """Lists of what was fetched, with the element types of arrays."""
    if hasattr(value, "dense_shape"):
        return ["entries", plain(value.indices), plain(value.values)] + (
            [] if value.dense_shape is None else [plain(value.dense_shape)]
        )
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    value = np.asarray(value)
    if value.dtype.kind in "OSU":
        return ["string"] + [v.decode() if isinstance(v, bytes) else v for v in value.reshape(-1).tolist()]
    return [value.dtype.name, [repr(float(v)) for v in value.reshape(-1)], list(value.shape)]


def evaluate(tf, case):
    """The tensors of a case."""
    given = {name: tf.SparseTensor(*value) for name, value in SPARSE.items()}
    D2, W2, V = tf.constant(D), tf.constant(W), tf.constant(7.0)
    return eval(case, dict(given, tf=tf, D=D, W=W, D2=D2, W2=W2, V=V))
