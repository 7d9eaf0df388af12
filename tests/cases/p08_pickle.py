# pickle of an eager variable.
import pickle

import tensorflow as tf

tf.enable_eager_execution()
v = tf.contrib.eager.Variable(10.0, name="v")
w = pickle.loads(pickle.dumps(v))
print(w.numpy())
