# LOST STATE: tf.train.Checkpoint(iterator=one-shot iterator), eagerly.
import os
import tempfile

import tensorflow as tf

tf.enable_eager_execution()
it = tf.data.Dataset.range(10).make_one_shot_iterator()
ckpt = tf.train.Checkpoint(iterator=it)
print(it.get_next().numpy(), it.get_next().numpy())
p = ckpt.save(os.path.join(tempfile.mkdtemp(), "c"))
print(it.get_next().numpy(), it.get_next().numpy())
ckpt.restore(p)
print("after restore", it.get_next().numpy())
