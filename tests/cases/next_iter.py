# next() of a distributed iterator of 1.x.
import sys

import numpy as np
import tensorflow as tf

if "towerstrat" not in sys.modules:
    s = tf.contrib.distribute.MirroredStrategy(["/cpu:0"])  # TensorFlow itself: no TPU here
else:
    s = tf.contrib.distribute.TPUStrategy(tf.contrib.cluster_resolver.TPUClusterResolver(tpu=""))
with s.scope():
    d = tf.data.Dataset.from_tensor_slices(np.ones((8, 1), "f")).batch(4, drop_remainder=True).repeat()
    it = (
        s.experimental_distribute_dataset(d).make_initializable_iterator()
        if hasattr(s, "experimental_distribute_dataset")
        else s.make_dataset_iterator(d)
    )
    x = next(it)
    with tf.Session() as q:
        q.run(it.initialize() if hasattr(it, "initialize") else it.initializer)
        print(q.run(s.experimental_local_results(x))[0].shape)
