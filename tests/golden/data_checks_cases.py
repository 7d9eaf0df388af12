"""Operations on inputs that are out of range, which the original and ours both run. Runs under Python 3.6 too.

Each case is (name, function of the namespace and the inputs, inputs with their types, pattern of the message).
"""


def _array(tf, kind, index, value=1.0):
    array = tf.TensorArray(tf.float32, 2, element_shape=[])
    if kind == "write":
        return array.write(index, value).size()
    if kind == "scatter":
        return array.scatter(index, [value]).size()
    array = array.unstack([1.0, 2.0])
    return array.read(index) if kind == "read" else array.gather(index)


def _table(tf, value=None):
    return tf.get_variable(
        "table", [3, 2], initializer=tf.ones_initializer() if value is None else value, use_resource=True
    )


_TWO = ([1.0, 2.0], "float32")
_MATRIX = ([[1.0, 2.0], [3.0, 4.0]], "float32")
_ZERO = r"Integer division by zero"
_PLACE = r"indices\[1\] = 5 is not in \[0, 3\)"

CASES = [
    ("floordiv", lambda tf, a, b: a // b, [([1, 2], "int32"), ([1, 0], "int32")], _ZERO),
    ("floormod", lambda tf, a, b: a % b, [([1, 2], "int32"), ([1, 0], "int32")], _ZERO),
    ("floordiv_int64", lambda tf, a, b: a // b, [([1, 2], "int64"), ([1, 0], "int64")], _ZERO),
    ("div_uint8", lambda tf, a, b: tf.div(a, b), [([1, 2], "uint8"), ([1, 0], "uint8")], _ZERO),
    ("truncatediv", lambda tf, a, b: tf.truncatediv(a, b), [([1, 2], "int32"), ([1, 0], "int32")],
     r"[Ii]nteger div"),
    ("truncatemod", lambda tf, a, b: tf.truncatemod(a, b), [([1, 2], "int32"), ([1, 0], "int32")],
     r"[Ii]nteger div"),
    ("pow", lambda tf, a, b: tf.pow(a, b), [([2, 3], "int32"), ([1, -1], "int32")],
     r"Integers to negative integer powers are not allowed"),
    ("gather", lambda tf, x, i: tf.gather(x, i), [_TWO, ([[0, 1], [2, 0]], "int32")],
     r"indices\[1,0\] = 2 is not in \[0, 2\)"),
    ("gather_negative", lambda tf, x, i: tf.gather(x, i), [_TWO, ([0, -1], "int64")],
     r"indices\[1\] = -1 is not in \[0, 2\)"),
    ("gather_columns", lambda tf, x, i: tf.gather(x, i, axis=1), [_MATRIX, ([0, 2], "int32")],
     r"indices\[1\] = 2 is not in \[0, 2\)"),
    ("gather_nd", lambda tf, x, i: tf.gather_nd(x, i), [_MATRIX, ([[0, 0], [1, 2]], "int32")],
     r"indices\[1\] = \[1, 2\] does not index into param shape \[2,2\]"),
    ("gather_nd_rows", lambda tf, x, i: tf.gather_nd(x, i), [_MATRIX, ([[0], [5]], "int32")],
     r"indices\[1\] = \[5\] does not index into param shape \[2,2\]"),
    ("scatter_nd", lambda tf, i, u: tf.scatter_nd(i, u, [3]), [([[0], [3]], "int32"), _TWO],
     r"indices\[1\] = \[3\] does not index into shape \[3\]"),
    ("embedding_lookup", lambda tf, i: tf.nn.embedding_lookup(_table(tf), i), [([0, 5], "int32")], _PLACE),
    ("scatter_update", lambda tf, i, u: tf.scatter_update(_table(tf), i, [u, u]), [([0, 5], "int32"), _TWO], _PLACE),
    ("scatter_nd_add", lambda tf, i, u: _table(tf).scatter_nd_add(i, [u, u]), [([[0], [5]], "int32"), _TWO],
     r"indices\[1\] = \[5\] does not index into shape \[3,2\]"),
    ("sparse_softmax", lambda tf, x, i: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=i, logits=x),
     [_MATRIX, ([0, 2], "int32")], r"Received a label value of 2 which is outside the valid range of \[0, 2\)"),
    ("sparse_softmax_negative", lambda tf, x, i: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=i, logits=x),
     [_MATRIX, ([0, -1], "int64")], r"Received a label value of -1 which is outside the valid range of \[0, 2\)"),
    ("in_top_k", lambda tf, x, i: tf.nn.in_top_k(x, i, 1), [_MATRIX, ([1, 2], "int32")],
     r"targets\[1\] is out of range"),
    ("segment_sum", lambda tf, x, i: tf.segment_sum(x, i), [_TWO, ([1, 0], "int32")],
     r"segment ids are not increasing"),
    ("segment_sum_negative", lambda tf, x, i: tf.segment_sum(x, i), [_TWO, ([-1, 0], "int32")],
     r"Segment id -1 out of range \[0, 1\)"),
    ("unsorted_segment_sum", lambda tf, x, i: tf.unsorted_segment_sum(x, i, 2), [_TWO, ([1, 2], "int32")],
     r"segment_ids\[1\] = 2 is out of range \[0, 2\)"),
    ("unsorted_segment_max", lambda tf, x, i: tf.unsorted_segment_max(x, i, 2), [_TWO, ([1, 2], "int32")],
     r"segment_ids\[1\] = 2 is out of range \[0, 2\)"),
    ("reverse_sequence", lambda tf, x, n: tf.reverse_sequence(x, n, seq_axis=1, batch_axis=0),
     [_MATRIX, ([1, 3], "int32")], r"seq_lens\(1\) > input.dims\(1\)"),
    ("reverse_sequence_negative", lambda tf, x, n: tf.reverse_sequence(x, n, seq_axis=1, batch_axis=0),
     [_MATRIX, ([1, -1], "int32")], r"seq_lens\(1\) < 0"),
    ("matrix_band_part", lambda tf, x, n: tf.matrix_band_part(x, n, n), [_MATRIX, (3, "int64")],
     r"num_lower must be negative or less or equal to number of rows \(2\) got: 3"),
    ("index", lambda tf, x, i: x[i], [_TWO, (2, "int32")], r"slice index 2 of dimension 0 out of bounds"),
    ("slice_begin", lambda tf, x, i: tf.slice(x, [i], [2]), [_TWO, (1, "int32")], None),
    ("bincount", lambda tf, x: tf.bincount(x, minlength=2, maxlength=2), [([1, -1], "int32")],
     r"Input arr must be non-negative!"),
    ("dynamic_partition", lambda tf, x, i: tf.dynamic_partition(x, i, 2)[0], [_TWO, ([0, 2], "int32")],
     r"partitions\[1\] = 2 is not in \[0, 2\)"),
    ("invert_permutation", lambda tf, x: tf.invert_permutation(x), [([0, 2], "int32")], r"2 is not between 0 and 2"),
    ("invert_permutation_twice", lambda tf, x: tf.invert_permutation(x), [([0, 0], "int32")],
     r"0 is duplicated in the input"),
    ("cholesky", lambda tf, x: tf.cholesky(x), [([[1.0, 2.0], [2.0, 1.0]], "float32")],
     r"Cholesky decomposition was not successful"),
    ("matrix_inverse", lambda tf, x: tf.matrix_inverse(x), [([[1.0, 1.0], [1.0, 1.0]], "float32")],
     r"Input is not invertible"),
    ("matrix_solve", lambda tf, x, y: tf.matrix_solve(x, y),
     [([[1.0, 1.0], [1.0, 1.0]], "float32"), ([[1.0], [1.0]], "float32")], r"Input matrix is not invertible"),
    ("triangular_solve", lambda tf, x, y: tf.matrix_triangular_solve(x, y),
     [([[0.0, 0.0], [1.0, 1.0]], "float32"), ([[1.0], [1.0]], "float32")], r"Input matrix is not invertible"),
    ("random_uniform", lambda tf, a, b: tf.random_uniform([2], a, b, tf.int32), [(5, "int32"), (3, "int32")],
     r"Need minval < maxval, got 5 >= 3"),
    ("confusion_matrix", lambda tf, a, b: tf.confusion_matrix(a, b, 2), [([0, 1], "int32"), ([0, 2], "int32")],
     None),
    ("tensor_array_read", lambda tf, i: _array(tf, "read", i), [(2, "int32")],
     r"Tried to read from index 2 but array size is: 2"),
    ("tensor_array_gather", lambda tf, i: _array(tf, "gather", i), [([2], "int32")],
     r"Tried to read from index 2 but array size is: 2"),
    ("tensor_array_write", lambda tf, i: _array(tf, "write", i), [(2, "int32")],
     r"Tried to write to index 2 but array is not resizeable and size is: 2"),
]  # fmt: skip
"""A pattern of None: the original's message has other words than ours."""
