# 2.x does not restore a layer that is added to a Sequential after Checkpoint.restore.
import os
import tempfile

import tensorflow as tf

K = tf.keras
m = K.Sequential()
c = tf.train.Checkpoint(model=m)
m.add(K.layers.Dense(4))
d = K.layers.Dense(5)
m.add(d)
m(tf.constant([[1.0]]))
d.bias.assign([1.0, 2.0, 3.0, 4.0, 5.0])
p = c.save(os.path.join(tempfile.mkdtemp(), "c"))
n = K.Sequential()
c2 = tf.train.Checkpoint(model=n)
st = c2.restore(p)
n.add(K.layers.Dense(4))
n(tf.constant([[1.0]]))
e = K.layers.Dense(5)
n.add(e)
n(tf.constant([[1.0]]))
print(e.bias.numpy())
