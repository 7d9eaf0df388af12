# Data sets whose batch, window, padding, compression come from placeholders.
import os
import tempfile

import tensorflow as tf

n = tf.placeholder(tf.int64, [])
c = tf.placeholder_with_default("", [])
folder = tempfile.mkdtemp()
plain, packed = (os.path.join(folder, name) for name in "ab")
with tf.python_io.TFRecordWriter(plain) as w:
    w.write(b"a")
with tf.python_io.TFRecordWriter(packed, tf.python_io.TFRecordOptions(tf.python_io.TFRecordCompressionType.GZIP)) as w:
    w.write(b"b")
numbers = tf.data.Dataset.range(4)
for name, data, kind in (
    ("batch", numbers.batch(n), ""),
    ("window", numbers.window(n).flat_map(lambda d: d.batch(9)), ""),
    ("padding", numbers.map(tf.range).padded_batch(2, [None], padding_values=n), ""),
    ("none", tf.data.TFRecordDataset(plain, compression_type=c), ""),
    ("gzip", tf.data.TFRecordDataset(packed, compression_type=c), "GZIP"),
    ("in turn", tf.data.TFRecordDataset([packed, packed], compression_type=c, num_parallel_reads=2), "GZIP"),
):
    iterator = data.make_initializable_iterator()
    element = iterator.get_next()
    with tf.Session() as s:
        s.run(iterator.initializer, {n: 2, c: kind})
        print(name, s.run(element))
