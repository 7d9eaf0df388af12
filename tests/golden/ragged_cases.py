"""Expressions on ragged tensors over ``tf`` that are compared with 2.15, and what is kept of their values."""

import numpy as np

SETTING = {
    "R": "tf.ragged.constant([[3, 1, 4], [], [5, 9], [6]])",
    "F": "tf.ragged.constant([[1.5, -2.0], [0.5], []])",
    "N": "tf.ragged.constant([[[1], [2, 3]], [], [[4, 5, 6], []]])",
    "S": "tf.ragged.constant([['a', 'bc'], [], ['d']])",
    "W": "tf.ragged.constant([[[1, 2]], [], [[3, 4], [5, 6]]], ragged_rank=1)",
}

CASES = [
    *SETTING,
    "R.shape.as_list()", "N.shape.as_list()", "W.shape.as_list()", "[R.ragged_rank, N.ragged_rank, W.ragged_rank]",
    "tf.ragged.constant([])", "tf.ragged.constant([[], []])", "tf.ragged.constant([1, 2])",
    "tf.ragged.constant([[1], 2])", "tf.ragged.constant([[1], [[2]]])", "tf.ragged.constant(3)",
    "tf.ragged.constant([[1, 2], [3]], dtype=tf.float64, row_splits_dtype=tf.int32)",
    "tf.ragged.constant([[[1, 2], [3, 4]], []], inner_shape=(2,))",
    "tf.ragged.constant([[1, 2]], ragged_rank=2)",
    "tf.ragged.constant([[1], [2]], ragged_rank=0)",
    "tf.RaggedTensor.from_row_splits([3, 1, 4], [0, 1, 3])",
    "tf.RaggedTensor.from_row_splits([3, 1, 4], [0, 2])",
    "tf.RaggedTensor.from_row_splits([3, 1, 4], [1, 3])",
    "tf.RaggedTensor.from_row_splits([3, 1, 4], [0, 2, 1, 3])",
    "tf.RaggedTensor.from_row_splits([3, 1, 4], [])",
    "tf.RaggedTensor.from_row_lengths([3, 1, 4], [1, 0, 2])",
    "tf.RaggedTensor.from_row_lengths([3, 1, 4], [1, 1])",
    "tf.RaggedTensor.from_row_starts([3, 1, 4], [0, 0, 2])",
    "tf.RaggedTensor.from_row_limits([3, 1, 4], [0, 2, 3])",
    "tf.RaggedTensor.from_value_rowids([3, 1, 4], [0, 0, 2])",
    "tf.RaggedTensor.from_value_rowids([3, 1, 4], [0, 0, 2], nrows=5)",
    "tf.RaggedTensor.from_value_rowids([3, 1, 4], [1, 0, 2])",
    "tf.RaggedTensor.from_uniform_row_length([1, 2, 3, 4], 2)",
    "tf.RaggedTensor.from_nested_row_splits([1, 2, 3], [[0, 1, 2], [0, 2, 3]])",
    "tf.RaggedTensor.from_nested_row_lengths([1, 2, 3], [[1, 1], [2, 1]])",
    "tf.RaggedTensor.from_nested_value_rowids([1, 2, 3], [[0, 1], [0, 0, 1]])",
    "tf.RaggedTensor.from_tensor([[1, 2], [3, 4]])",
    "tf.RaggedTensor.from_tensor([[1, 2, 0], [0, 4, 0], [0, 0, 0]], padding=0)",
    "tf.RaggedTensor.from_tensor([[1, 2, 0], [3, 4, 5]], lengths=[1, 3])",
    "tf.RaggedTensor.from_tensor([[1, 2]], lengths=[1], padding=0)",
    "tf.RaggedTensor.from_tensor([[[1, 2], [3, 4]], [[5, 6], [7, 8]]], ragged_rank=2)",
    "tf.RaggedTensor.from_tensor([1, 2])",
    "tf.RaggedTensor.from_sparse(tf.SparseTensor([[0, 0], [0, 1], [2, 0]], [1, 2, 3], [4, 3]))",
    "tf.RaggedTensor.from_sparse(tf.SparseTensor([[0, 1]], [1], [4, 3]))",
    "R.values", "R.row_splits", "R.value_rowids()", "R.row_lengths()", "N.row_lengths(axis=2)", "R.row_starts()",
    "R.row_limits()", "R.nrows()", "N.nested_row_splits", "N.nested_row_lengths()", "N.nested_value_rowids()",
    "N.flat_values", "R.bounding_shape()", "W.bounding_shape()", "N.bounding_shape(axis=2)",
    "R.to_tensor()", "R.to_tensor(-1)", "R.to_tensor(shape=[None, 2])", "R.to_tensor(shape=[5, 4])", "N.to_tensor()",
    "W.to_tensor()", "S.to_tensor()", "S.to_tensor('x')", "F.to_tensor(0.5)", "N.to_tensor(shape=[3, 1, 2])",
    "R.to_sparse()", "N.to_sparse()", "S.to_sparse()",
    "R.to_list()", "N.to_list()", "R.with_values([1, 2, 3, 4, 5, 6])", "N.with_flat_values([6, 5, 4, 3, 2, 1])",
    "N.merge_dims(0, 1)", "N.merge_dims(1, 2)", "N.merge_dims(0, 2)", "W.merge_dims(1, 2)",
    "R[0]", "R[-1]", "R[1]", "R[4]", "R[2, 1]", "R[1:3]", "R[::-1]", "R[::2]", "R[:, :2]", "R[:, 1:]", "R[:, -1:]",
    "R[:, ::2]", "R[2:, 0]", "R[:, 0]", "N[0]", "N[0, 1]", "N[:, :1]", "N[:, :, 0:1]", "N[2, 0, 1]",
    "W[:, :, 0]", "W[2, 1]",
    "R * [[1], [2], [3], [4]]", "[[10]] - R", "tf.multiply(R, 2)", "tf.add([[1], [2], [3], [4]], R)", "W * [1, 2]",
    "W + [[[1, 2]], [[3, 4]], [[5, 6]]]", "N * [[[1]], [[2]], [[3]]]", "R * [[1], [2]]", "N + [[[7]]]", "F * [[2.0]]",
    "tf.size(R)", "tf.size(N)", "tf.size(W)",
    "tf.map_fn(tf.reduce_sum, R, fn_output_signature=tf.int32)", "tf.map_fn(lambda row: row * 2, R)",
    "tf.map_fn(lambda row: row * 2, N)", "tf.map_fn(lambda row: row[:1], W)", "tf.map_fn(lambda row: row, S)",
    "tf.map_fn(lambda row: row.row_lengths(), N, "
    "fn_output_signature=tf.RaggedTensorSpec([None], tf.int64, ragged_rank=0))",
    "tf.map_fn(lambda row: row.nrows(), N, fn_output_signature=tf.TensorSpec([], tf.int64))",
    "R + R", "R * 2", "1 - R", "R > 3", "-R", "R + N", "R // 2",
    "tf.reduce_sum(R)", "tf.reduce_sum(R, 0)", "tf.reduce_sum(R, 1)", "tf.reduce_sum(R, -1)",
    "tf.reduce_sum(R, [0, 1])", "tf.reduce_sum(N, 2)", "tf.reduce_sum(W, 2)", "tf.reduce_sum(W, 1)",
    "tf.reduce_mean(F, 1)", "tf.reduce_mean(F, 0)", "tf.reduce_max(F, 1)", "tf.reduce_min(R, 1)",
    "tf.reduce_prod(R, 1)", "tf.reduce_any(R > 4, 1)", "tf.reduce_all(R > 3, 1)", "tf.reduce_mean(R)",
    "tf.concat([R, R], 0)", "tf.concat([R, [[1, 2]]], 0)", "tf.concat([R, R * 2], 1)", "tf.concat([N, N], 1)",
    "tf.concat([N, N], 2)", "tf.concat([R, R[1:]], 1)",
    "tf.ragged.stack([R, R[1:]])", "tf.ragged.stack([[1, 2], [3]])", "tf.ragged.stack([R, N])",
    "tf.gather(R, [2, 0, 2])", "tf.gather(R, 2)", "tf.gather(N, [2, 0])", "tf.gather(R, [4])",
    "tf.gather([10, 11, 12, 13, 14, 15, 16, 17, 18, 19], R)",
    "tf.ragged.boolean_mask(R, R > 3)", "tf.ragged.boolean_mask(R, [True, False, True, False])",
    "tf.ragged.boolean_mask([[1, 2], [3, 4]], [[True, False], [True, True]])",
    "tf.ragged.range([3, 0, 2])", "tf.ragged.range([1, 5], [4, 5])", "tf.ragged.range(0, [3, 6], 2)",
    "tf.ragged.range([0], [3], [0])", "tf.ragged.range([0.5], [2.0])", "tf.ragged.range([3], [0], -1)",
    "tf.ragged.row_splits_to_segment_ids([0, 3, 3, 5])", "tf.ragged.segment_ids_to_row_splits([0, 0, 0, 2, 2, 3])",
    "tf.ragged.segment_ids_to_row_splits([0, 0], num_segments=3)",
    "tf.ragged.map_flat_values(tf.add, R, R)", "tf.ragged.map_flat_values(tf.ones_like, R)",
    "tf.ragged.map_flat_values(tf.add, R, N)",
    "tf.cast(R, tf.float32)", "tf.square(F)", "tf.strings.length(S)", "tf.strings.upper(S)",
    "tf.strings.to_hash_bucket_fast(S, 100)", "tf.strings.regex_replace(S, 'b', 'x')", "tf.strings.substr(S, 0, 1)",
    "tf.nn.embedding_lookup(tf.eye(10), R)",
    "tf.strings.split(['a b  c', '', ' d '])", "tf.strings.split('a b')", "tf.strings.split([['a b', 'c']])",
    "tf.strings.split(S, 'b')", "tf.strings.split(['a,b,c'], ',', maxsplit=1)", "tf.strings.split([], ',')",
    "tf.strings.bytes_split(['ab', '', 'c'])", "tf.strings.bytes_split('xyz')", "tf.strings.bytes_split(S)",
    "tf.strings.reduce_join(S, -1, separator='-')", "tf.strings.reduce_join(S, 1)",
    "tf.strings.ngrams(S, 2)", "tf.strings.ngrams(['a', 'b', 'c'], 2)",
    "tf.strings.ngrams(['a', 'b', 'c'], [1, 3], '|')",
    "tf.strings.ngrams(S, 3, pad_values=('L', 'R'))", "tf.strings.ngrams(S, 3, pad_values='P', padding_width=1)",
    "tf.strings.ngrams(S, 4, preserve_short_sequences=True)", "tf.strings.ngrams([['a', 'b'], ['c', 'd']], 2)",
    "tf.strings.ngrams(S, [2, 3], preserve_short_sequences=True)", "tf.strings.ngrams(S, 0)",
    "tf.strings.ngrams(S, 2, padding_width=1)", "tf.strings.ngrams('a', 2)",
    "tf.strings.unicode_decode(['h\u00e9', '', 'z\U0001f600'], 'UTF-8')", "tf.strings.unicode_decode('ab', 'UTF-8')",
    "tf.strings.unicode_decode([b'a\xffb', b'\xe2\x82', b'\xe2\x28\xa1'], 'UTF-8')",
    "tf.strings.unicode_decode([b'a\xffb'], 'UTF-8', errors='ignore')",
    "tf.strings.unicode_decode([b'a\xffb'], 'UTF-8', errors='strict')",
    "tf.strings.unicode_decode([b'a\xffb'], 'UTF-8', replacement_char=32)",
    "tf.strings.unicode_decode(['a\tb'], 'UTF-8', replace_control_characters=True)",
    "tf.strings.unicode_decode([b'\x00a\x01b'], 'UTF-16-BE')", "tf.strings.unicode_decode(['a'], 'nonsense')",
    "tf.strings.unicode_decode_with_offsets(['h\u00e9y', 'z'], 'UTF-8')",
    "tf.strings.unicode_split(['h\u00e9', 'z'], 'UTF-8')", "tf.strings.unicode_split_with_offsets('h\u00e9y', 'UTF-8')",
    "tf.strings.unicode_encode([104, 233], 'UTF-8')", "tf.strings.unicode_encode([[104, 105], [106, 107]], 'UTF-8')",
    "tf.strings.unicode_encode(tf.ragged.constant([[104, 233], [], [0x1f600]]), 'UTF-8')",
    "tf.strings.unicode_encode([0x110000, 104], 'UTF-8')", "tf.strings.unicode_encode([0xd800], 'UTF-8', 'ignore')",
    "tf.strings.unicode_encode([0xd800], 'UTF-8', 'strict')", "tf.strings.unicode_encode([104], 'latin')",
    "tf.strings.unicode_encode([104, 105], 'UTF-32-BE')",
    "tf.strings.unicode_transcode(['h\u00e9', ''], 'UTF-8', 'UTF-16-BE')",
    "tf.strings.unicode_transcode([b'a\xffb'], 'UTF-8', 'UTF-8', errors='replace', replacement_char=63)",
    "tf.strings.unicode_transcode([b'caf\xe9'], 'ISO-8859-1', 'UTF-8')",
]  # fmt: skip


def plain(value):
    if hasattr(value, "to_list"):
        parts = [value.flat_values, *value.nested_row_splits]
        return ["ragged", value.to_list(), [np.asarray(p).dtype.name for p in parts]]
    if hasattr(value, "dense_shape"):
        return ["sparse", plain(value.indices), plain(value.values), plain(value.dense_shape)]
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    array = np.asarray(value, object if isinstance(value, bytes) else None)
    return [array.dtype.name, array.tolist()]


def decoded(value):
    """Bytes as text."""
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, float):
        return repr(value)
    return [decoded(v) for v in value] if isinstance(value, (list, tuple)) else value


def evaluated(tf, case):
    given = {name: eval(text, {"tf": tf}) for name, text in SETTING.items()}
    return eval(case, dict(given, tf=tf, np=np))
