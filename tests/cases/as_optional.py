# A strategy's extended.experimental_enable_get_next_as_optional is set by programs of 1.15.
import sys

import tensorflow as tf

if "towerstrat" not in sys.modules:
    s = tf.contrib.distribute.MirroredStrategy(["/cpu:0"])  # TensorFlow itself: no TPU here
else:
    s = tf.contrib.distribute.TPUStrategy(tf.contrib.cluster_resolver.TPUClusterResolver(tpu=""))
s.extended.experimental_enable_get_next_as_optional = False
print("set")
