# Gradients through the initial value of a while_loop (dynamic_rnn, scan, foldl) in contrib's Mirrored towers.
import tensorflow as tf

s = tf.contrib.distribute.MirroredStrategy(devices=["/device:CPU:0", "/device:CPU:1"])


def fn(weighted):
    w = tf.get_variable("w", initializer=2.0)
    body = (lambda i, a: (i + 1, a * w)) if weighted else (lambda i, a: (i + 1, a * 1.5))
    y = tf.while_loop(lambda i, a: i < 2, body, [0, w * 3.0])[1]
    return tf.gradients(y, w)[0]


for weighted in (True, False):
    with tf.Graph().as_default(), s.scope():
        r = s.unwrap(s.call_for_each_tower(fn, weighted))
        if r[0] is None:
            print(None)
        else:
            with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as q:
                q.run(tf.global_variables_initializer())
                print([float(x) for x in q.run(r)])
