# tf.reduce_mean of integers whose sum does not fit their type: 2.x does not wrap around.
import tensorflow as tf

v2 = tf.__version__.startswith("2")
for dt, a in (
    ("uint8", [249, 4, 254]),
    ("uint8", [200] * 10),
    ("int8", [100, 100, 100]),
    ("int16", [30000, 30000]),
    ("uint16", [60000, 60000]),
    ("int32", [2000000000, 2000000000]),
    ("int64", [5, 6]),
):
    row = []
    for axis in (None, 0):
        for f in (tf.reduce_mean, tf.reduce_sum):
            try:
                if v2:
                    row.append(f(tf.constant(a, dt), axis=axis).numpy())
                else:
                    with tf.Graph().as_default(), tf.Session() as s:
                        row.append(s.run(f(tf.constant(a, dt), axis=axis)))
            except Exception as e:
                row.append(type(e).__name__)
    print(dt, a[:3], [str(q) for q in row])
