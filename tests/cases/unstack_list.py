# Lists that unstack, meshgrid, split, dynamic_partition, unique, py_func give belong to the program.
import numpy as np
import tensorflow as tf

x = tf.placeholder(tf.float32, [3, 2])
with tf.Session() as s:
    for f in (
        lambda: tf.unstack(x),
        lambda: list(tf.meshgrid(x[0], x[1])),
        lambda: tf.split(x, [1, 2]),
        lambda: tf.dynamic_partition(x, [0, 1, 0], 2),
        lambda: tf.unstack(x, axis=1),
        lambda: tf.unique(x[0]),
        lambda: tf.py_func(lambda a: (a, a), [x], [tf.float32, tf.float32]),
    ):
        try:
            ch = f()
            if isinstance(ch, list):
                ch[0] = ch[0] - 1.0
            print(type(ch).__name__, [v.shape for v in s.run(list(ch), {x: np.ones((3, 2))})])
        except Exception as e:
            print(type(e).__name__, str(e)[:150])
