# ruff: noqa: UP031
"""Arguments that 1.13 to 1.15 added to functions of 1.12, or gave another name. Runs under Python 3.6 too.

A case is an expression over ``tf``, the inputs below, files (``texts``, ``packed``, ``table``) and ``elements``.
"""

import gzip
import os
import re
import zlib

import numpy as np

f4, i4 = np.float32, np.int32


def spread(*shape):
    """Numbers in [-1, 1] that look drawn, the same everywhere."""
    return np.sin(np.arange(1, 1 + int(np.prod(shape))) ** 2 * 1.7).astype(f4).reshape(shape)


INPUTS = {
    "x": spread(2, 3), "y": spread(3, 2).reshape(2, 3) ** 2, "cube": spread(2, 3, 4), "seq": spread(2, 6, 2),
    "img": spread(1, 4, 5, 2), "pair": spread(2, 4, 4, 1), "vol": spread(1, 3, 3, 3, 1), "w1": spread(2, 2, 3),
    "w2": spread(2, 2, 2, 3), "w2t": spread(2, 2, 3, 2), "w3": spread(2, 2, 2, 1, 2), "w3t": spread(2, 2, 2, 2, 1),
    "dw": spread(2, 2, 2, 2), "pw": spread(1, 1, 4, 3), "morph": spread(2, 2, 2), "out": spread(1, 4, 5, 3),
    "ids": np.array([[2, 0], [1, 1]], i4), "places": np.array([[[0], [2]], [[1], [1]]], i4),
    "labels": np.array([[1.0, 0.0], [0.0, 0.5], [0.0, 0.5]], f4), "logits": spread(3, 2),
    "zeros": np.array([[0.0, 3.0, 0.0], [1.0, 0.0, 0.0]], f4), "guesses": np.array([0.1, 0.4, 0.35, 0.8], f4),
}  # fmt: skip

SPARSE = "tf.SparseTensor([[0, 1], [1, 2]], [1., -2.], [2, 3])"
OTHER = "tf.SparseTensor([[0, 1], [1, 0]], [-0.9, 3.], [2, 3])"
WORDS = "tf.constant(['a,b c', ',d', ''])"
LOSSES = "(tf.losses.mean_squared_error(x, y, scope='a'), tf.losses.absolute_difference(x, y, scope='b'), %s)[2]"

CASES = [
    "tf.gather(cube, ids, batch_dims=1)", "tf.gather(cube, ids, axis=2, batch_dims=1)", "tf.gather(cube, [1, 0])",
    "tf.gather(cube, ids, axis=-1, batch_dims=1)", "tf.gather(cube, ids, axis=0, batch_dims=1)",
    "tf.gather(cube, ids, None, None, 1)", "tf.gather(cube, ids, axis=1)",
    "tf.gather_nd(cube, places, batch_dims=1)", "tf.gather_nd(cube, places, None, 1)", "tf.gather_nd(cube, [[1, 2]])",
    "tf.manip.gather_nd(cube, places, batch_dims=1)",
    "tf.gradients(x * x, [x, y], unconnected_gradients='zero')",
    "tf.gradients(x * x, [x, y], unconnected_gradients=tf.UnconnectedGradients.ZERO)",
    "tf.gradients(x * x, [x, y], unconnected_gradients='ones')",
    "tf.convert_to_tensor([1, 2], dtype_hint=tf.float32)", "tf.convert_to_tensor(1.5, dtype_hint=tf.int32)",
    "tf.convert_to_tensor(3, dtype=tf.int64, dtype_hint=tf.float32)",
    "tf.convert_to_tensor(3, dtype_hint=tf.float32, preferred_dtype=tf.float32)",
    "tf.nn.conv1d(input=seq, filters=w1, stride=1, padding='SAME')", "tf.nn.conv1d(seq, w1, [2], 'VALID')",
    "tf.nn.conv1d(seq, w1, [1, 2, 1], 'SAME', data_format='NWC', dilations=1)",
    "tf.nn.conv1d(seq, w1, 1, 'SAME', input=seq)",
    "tf.nn.conv2d(img, filters=w2, strides=1, padding='SAME')", "tf.nn.conv2d(img, w2, [1, 2], 'VALID')",
    "tf.nn.conv2d(img, filters=w2, padding='VALID')",
    "tf.nn.conv2d(img, filters=w2, strides=[1, 2, 2, 1], padding=[[0, 0], [1, 0], [2, 1], [0, 0]])",
    "tf.nn.conv2d(img, w2, 1, 'SAME', dilations=None)", "tf.nn.conv2d(img, w2, 1, 'SAME', filters=w2)",
    "tf.nn.conv2d(img, w2, [1, 1, 1], 'SAME')", "tf.nn.conv2d(img, w2, 1, [[1, 1], [1, 1]])",
    "tf.nn.conv2d_backprop_input([1, 4, 5, 2], filters=w2, out_backprop=out, strides=[1] * 4, padding='SAME')",
    "tf.nn.conv3d(vol, filters=w3, strides=[1] * 5, padding='SAME')",
    "tf.nn.conv3d(vol, w3, [1] * 5, 'SAME', filters=w3)",
    "tf.nn.conv2d_transpose(input=img, filters=w2t, output_shape=[1, 8, 10, 3], strides=2)",
    "tf.nn.conv2d_transpose(img, w2t, [1, 4, 5, 3], [1, 1, 1, 1], dilations=[1, 1])",
    "tf.nn.conv2d_transpose(img, w2t, [1, 4, 5, 3], 1, input=img)",
    "tf.nn.conv2d_transpose(img, w2t, [1, 4, 5, 3], 1, filters=w2t)",
    "tf.nn.conv3d_transpose(None, input=vol, filters=w3t, output_shape=[1, 6, 6, 6, 2], strides=2)",
    "tf.nn.convolution(img, None, 'SAME', filters=w2, dilations=[2, 2])", "tf.nn.convolution(img, w2, 'VALID', 2)",
    "tf.nn.convolution(img, w2, 'SAME', dilation_rate=[2, 1], dilations=[2, 1])",
    "tf.nn.dilation2d(img, filters=morph, strides=[1] * 4, dilations=[1, 2, 1, 1], padding='SAME')",
    "tf.nn.dilation2d(img, morph, [1] * 4, [1] * 4, 'SAME', dilations=[1] * 4)",
    "tf.nn.depthwise_conv2d(img, dw, [1] * 4, 'SAME', dilations=[2, 1])",
    "tf.nn.depthwise_conv2d(img, dw, [1] * 4, 'SAME', rate=[2, 1], dilations=[2, 1])",
    "tf.nn.separable_conv2d(img, dw, pw, [1] * 4, 'VALID', dilations=[1, 2])",
    "tf.nn.separable_conv2d(img, dw, pw, [1] * 4, 'VALID', rate=[1, 2], dilations=[1, 2])",
    "tf.nn.pool(img, [2, 2], 'MAX', 'VALID', dilations=[2, 1])",
    "tf.nn.pool(img, [2, 2], 'AVG', 'VALID', dilation_rate=[2, 1], dilations=[2, 1])",
    "tf.nn.max_pool(None, 2, 2, 'SAME', input=img)", "tf.nn.max_pool(img, [2, 1], [1, 2], 'VALID')",
    "tf.nn.max_pool(img, 2, 2, 'SAME', input=img)", "tf.nn.avg_pool(None, 2, 1, 'SAME', input=img)",
    "tf.nn.avg_pool(img, 2, 2, 'SAME', input=img)", "tf.nn.avg_pool2d(None, [2], 2, 'VALID', input=img)",
    "tf.nn.max_pool_with_argmax(pair, [1, 2, 2, 1], [1, 2, 2, 1], 'SAME', output_dtype=tf.int64)",
    "tf.nn.max_pool_with_argmax(pair, [1, 2, 2, 1], [1, 2, 2, 1], 'SAME', include_batch_in_index=True)",
    "tf.nn.max_pool_with_argmax(pair, [1, 2, 2, 1], [1, 2, 2, 1], 'SAME', data_format='NCHW')",
    "tf.nn.max_pool_with_argmax(pair, [1, 2, 2, 1], [1] * 4, 'SAME', Targmax=tf.int32, output_dtype=tf.int32)",
    "tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits, dim=None, axis=0)",
    "tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits, dim=0, axis=0)",
    "tf.nn.softmax_cross_entropy_with_logits_v2(labels, logits, axis=0)",
    "tf.nn.softmax_cross_entropy_with_logits_v2(labels, logits, 0, dim=0)",
    "tf.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits)",
    "tf.nn.weighted_cross_entropy_with_logits(labels=labels, logits=logits, pos_weight=2.)",
    "tf.nn.weighted_cross_entropy_with_logits(targets=labels, logits=logits, pos_weight=tf.constant([2., 0.5]))",
    "tf.nn.weighted_cross_entropy_with_logits(labels, logits, 2., targets=labels)",
    "tf.nn.batch_norm_with_global_normalization(input=x, mean=y[0], variance=y[1], beta=x[0], "
    "gamma=x[1], variance_epsilon=.1, scale_after_normalization=True)",
    "tf.nn.batch_norm_with_global_normalization(x, y[0], y[1], None, None, .1, False, mean=y[0])",
    "tf.strings.split(%s)" % WORDS, "tf.strings.split(input=%s, sep=',', maxsplit=1)" % WORDS,
    "tf.strings.split(source=%s, sep=',')" % WORDS, "tf.strings.split(%s, source=%s)" % (WORDS, WORDS),
    "tf.strings.split(%s, result_type='RaggedTensor').to_tensor()" % WORDS,
    "tf.strings.split([['a b', 'c'], ['', 'd e f']])", "tf.strings.split('a b', result_type='RaggedTensor')",
    "tf.strings.split('a b')", "tf.strings.split(%s, result_type='Tensor')" % WORDS,
    "tf.strings.split(tf.ragged.constant([['a b'], ['c', 'd e']]))",
    "tf.string_split(%s, sep=', ')" % WORDS, "tf.string_split(%s, delimiter=',', skip_empty=False)" % WORDS,
    "tf.string_split(%s, sep=',', delimiter=',')" % WORDS, "tf.string_split(%s)" % WORDS,
    "tf.string_split(%s, result_type='RaggedTensor').to_tensor()" % WORDS,
    "tf.string_split(%s, result_type='dense')" % WORDS, "tf.string_split(%s, '')" % WORDS,
    "tf.strings.to_number(input=['1.5', '-2'])", "tf.strings.to_number(['1'], input=['1'])",
    "tf.string_to_number(input=['7'], out_type=tf.int32)", "tf.string_to_hash_bucket(input=['a', 'b'], num_buckets=9)",
    "tf.strings.to_hash_bucket(['a'], 9, input=['a'])",
    "tf.decode_raw(input_bytes=['abcd'], out_type=tf.int16)", "tf.io.decode_raw(['abcd'], tf.uint8)",
    "tf.decode_raw(bytes=['abcd'], out_type=tf.uint8, little_endian=False)",
    "tf.decode_raw(['abcd'], tf.uint8, bytes=['abcd'])",
    "tf.count_nonzero(input=zeros, axis=1)", "tf.math.count_nonzero(zeros, keepdims=True, dtype=tf.int32)",
    "tf.count_nonzero(zeros, input=zeros)",
    "tf.space_to_batch(img[:, :, :4], [[0, 0], [0, 0]], block_shape=2)",
    "tf.nn.space_to_batch(img[:, :, :4], [[0, 0], [0, 0]], 2, block_shape=2)",
    "tf.batch_to_space(tf.reshape(pair, [4, 2, 4, 1]), [[0, 0], [1, 0]], None, block_shape=2)",
    "tf.batch_to_space(tf.reshape(pair, [4, 2, 4, 1]), [[0, 0], [1, 0]], 2, block_shape=2)",
    "tf.sparse.add(%s, %s, threshold=0.5)" % (SPARSE, OTHER), "tf.sparse_add(%s, %s, thresh=0.5)" % (SPARSE, OTHER),
    "tf.sparse.add(%s, %s, 0.5, thresh=0.5)" % (SPARSE, OTHER), "tf.sparse.add(%s, x)" % SPARSE,
    "tf.sparse.concat(0, [%s, %s], expand_nonconcat_dim=None, expand_nonconcat_dims=True)" % (SPARSE, OTHER),
    "tf.sparse.to_dense(%s)" % SPARSE, "tf.sparse.to_dense(tf.SparseTensor([[1]], ['a'], [3]))",
    "tf.linalg.diag(x, k=0)", "tf.linalg.diag_part(cube, k=0)", "tf.linalg.set_diag(cube, cube[:, :, 0], k=0)",
    "tf.roll(x, 1, 1, name='moved')", "tf.scalar_mul(3., x, name='thrice')", "tf.math.scalar_mul(3., x, 'thrice')",
    "tf.image.transpose_image(img, name='turned')",
    "tf.verify_tensor_all_finite(x=x, message='no')", "tf.debugging.assert_all_finite(x, 'no')",
    "tf.verify_tensor_all_finite(x, 'no', x=x)", "tf.verify_tensor_all_finite(x, 'no', message='no')",
    "tf.verify_tensor_all_finite(x / 0., 'no')",
    "tf.assert_scalar(x[0, 0], message='no')", "tf.debugging.assert_scalar(x, message='no')",
    LOSSES % "tf.losses.get_total_loss(scope='b')", LOSSES % "tf.losses.get_total_loss(False, 'sum', 'a')",
    LOSSES % "tf.losses.get_total_loss()",
    "tf.layers.flatten(img, data_format='channels_first')", "tf.layers.flatten(img, None, 'channels_last')",
    "tf.metrics.auc([0, 0, 1, 1], guesses, thresholds=[0.5, 0.2, 0.375])[1]",
    "tf.metrics.auc([0, 0, 1, 1], guesses, curve='PR', summation_method='careful_interpolation', thresholds=[0.3])[1]",
    "tf.make_tensor_proto([1, 2], shape=[2], allow_broadcast=False).tensor_shape.dim[0].size",
    "tf.make_tensor_proto([1, 2], shape=[4], allow_broadcast=True)",
    "tf.make_tensor_proto([1], shape=[4], verify_shape=True, allow_broadcast=True)",
    "list(tf.make_ndarray(tf.make_tensor_proto([1], shape=[4], allow_broadcast=True)))",
    "tf.contrib.training.parse_values('a=1,b=x,c=2.5', {'a': int, 'c': float}, ignore_unknown=True)['c']",
    "elements(tf.data.TextLineDataset(texts, num_parallel_reads=2))",
    "elements(tf.data.FixedLengthRecordDataset(texts[:2], 3, num_parallel_reads=2))",
    "elements(tf.data.FixedLengthRecordDataset(packed[0], 3, 1, 2, compression_type='GZIP'))",
    "elements(tf.data.FixedLengthRecordDataset(packed[1], 3, 1, 2, compression_type='ZLIB', num_parallel_reads=1))",
    "elements(tf.data.FixedLengthRecordDataset(packed[0], 4, 1, 2, compression_type='GZIP'))",
    "elements(tf.data.experimental.make_csv_dataset(table, 1, column_defaults=[0, 0.], num_epochs=1, shuffle=False, "
    "ignore_errors=True).map(lambda row: row['b']))",
    "elements(tf.data.Dataset.range(7).apply(tf.data.experimental.bucket_by_sequence_length("
    "lambda n: tf.cast(n, tf.int32), [3], [2, 3], padded_shapes=[], drop_remainder=True)))",
]  # fmt: skip


def write_files(folder):
    """The files of the cases, by name: what a case may use of them."""

    def written(name, content):
        path = os.path.join(folder, name)
        with open(path, "wb") as file:
            file.write(content)
        return path

    return {
        "texts": [written("one.txt", b"ab\ncd\nef\n"), written("two.txt", b"gh\nij\n"), written("three.txt", b"k\n")],
        "packed": [
            written("fixed.gz", gzip.compress(b"<abcdefghi>>")), written("fixed.zlib", zlib.compress(b"<abcdefghi>>"))
        ],
        "table": written("table.csv", b"a,b\n1,2.5\nx,3.5\n2,4.5\n"),
    }  # fmt: skip


def plain(value):
    """A result as JSON has it."""
    array = np.asarray(value)
    if array.dtype.kind in "OSU":
        return [text.decode() for text in array.ravel().tolist()] + [list(array.shape)]
    return {"type": array.dtype.name, "shape": list(array.shape), "numbers": array.ravel().tolist()}


def flat(value):
    return [part for each in value for part in flat(each)] if isinstance(value, (list, tuple)) else [value]


def evaluated(tf, case, files):
    """A case's values, and the gradients of the first one by the floating inputs; the name of an error."""
    with tf.Graph().as_default(), tf.Session() as session:
        names = sorted(set(re.findall(r"\b[a-z]\w*\b", case)) & set(INPUTS))
        inputs = {n: tf.placeholder(INPUTS[n].dtype, INPUTS[n].shape, name="in_" + n) for n in names}
        feed = {inputs[n]: INPUTS[n] for n in names}

        def elements(dataset):
            element = tf.data.make_one_shot_iterator(dataset).get_next()
            found = []
            while True:
                try:
                    found.append(session.run(element))
                except tf.errors.OutOfRangeError:
                    return found

        try:
            result = eval(case, dict(files, tf=tf, np=np, elements=elements, **inputs))
            parts = tf.nest.flatten(result)
            tensors = [part for part in parts if isinstance(part, (tf.Tensor, tf.SparseTensor))]
            session.run([tf.local_variables_initializer(), tf.global_variables_initializer()])
            values = session.run(tensors, feed) if tensors else parts
            found = {"values": [plain(value) for value in flat(values)]}
            first = tensors[0] if tensors and isinstance(tensors[0], tf.Tensor) else None
            if first is not None and first.dtype.is_floating and "auc" not in case:
                wanted = [inputs[n] for n in names if INPUTS[n].dtype == f4]
                gradients = [tf.convert_to_tensor(g) for g in tf.gradients(first * first, wanted) if g is not None]
                found["gradients"] = [plain(value) for value in session.run(gradients, feed)]
            return found
        except Exception as error:
            return {"error": type(error).__name__}
