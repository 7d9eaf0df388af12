# The number of a tower, a Python integer, in bounds, sizes and masks.
import sys

import numpy as np
import tensorflow as tf

distribute = tf.contrib.distribute
if "towerstrat" in sys.modules:
    strategy = distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
else:
    from tensorflow.contrib.distribute.python import cross_tower_ops

    one = cross_tower_ops.ReductionToOneDeviceCrossTowerOps()
    strategy = distribute.MirroredStrategy(["/cpu:0", "/cpu:1"], cross_tower_ops=one, prefetch_on_device=False)
cases = [
    ("first", lambda h, i: h[:, i:]),
    ("last", lambda h, i: h[:, : i + 1]),
    ("box", lambda h, i: tf.slice(h, [0, i], [-1, 1])),
    ("step", lambda h, i: h[:, :: i + 1]),
    ("rotated", lambda h, i: tf.concat([h[:, i:], h[:, :i]], 1)),
    ("resize", lambda h, i: tf.image.resize_images(tf.reshape(h, [1, 2, 3, 1]), [2 + i, 3])),
    ("crop", lambda h, i: tf.image.crop_to_bounding_box(tf.reshape(h, [1, 2, 3, 1]), 0, i, 2, 2)),
    ("mask", lambda h, i: tf.boolean_mask(h, [[True, False], [False, True]][i])),
    ("row", lambda h, i: h[i : i + 1] * 2.0),
]
for name, form in cases:
    with tf.Graph().as_default(), strategy.scope():
        rows = np.arange(24.0).reshape(4, 2, 3).astype("f")
        data = strategy.distribute_dataset(lambda rows=rows: tf.data.Dataset.from_tensor_slices(rows))
        iterator = data.make_initializable_iterator()

        def tower(h, form=form):
            y = form(h, distribute.get_tower_context().tower_id)
            return y, tf.gradients(tf.reduce_sum(y * y), h)[0]

        results = strategy.call_for_each_tower(tower, iterator.get_next())
        with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as sess:
            sess.run(iterator.initializer)
            for values in sess.run([list(strategy.unwrap(each)) for each in results]):
                print(name, [value.tolist() for value in values])
