# The variable that an assignment returns goes through branches, loops, structures and functions.
import tensorflow as tf

v = tf.Variable(1.0)
c = tf.constant(2.0)


@tf.function
def in_for(n):
    x = tf.constant(0.0)
    for _ in tf.range(n):
        x = v.assign_add(1.0)
    return x, v + 0.0


@tf.function
def in_if(p):
    if p:
        y = v.assign(5.0)
    else:
        y = c
    return y * 2.0


@tf.function
def in_while(n):
    y = v.assign(1.0)
    while tf.reduce_sum(y) < n:
        y = v.assign_add(2.0)
    return y


@tf.function
def in_structures():
    ys = [v.assign(1.0), v.assign_add(1.0)]
    return tf.stack(ys), {"k": v.assign(9.0)}


@tf.function
def double(t):
    return t * 2.0


@tf.function
def given():
    return double(v.assign(3.0))


@tf.function
def differentiated():
    with tf.GradientTape() as t:
        y = double(v.assign(3.0)) ** 2
    return t.gradient(y, v)


@tf.function
def mapped():
    return tf.map_fn(lambda k: v.assign_add(k), tf.constant([1.0, 2.0]))


for name, fn in (
    ("a", lambda: in_for(tf.constant(3))),
    ("b", lambda: in_if(tf.constant(True))),
    ("b2", lambda: in_if(tf.constant(False))),
    ("d", lambda: in_while(tf.constant(6.0))),
    ("e", in_structures),
    ("f", given),
    ("g", differentiated),
    ("h", mapped),
):
    print(name, tf.nest.map_structure(lambda q: q.numpy().tolist(), fn()), v.numpy())
