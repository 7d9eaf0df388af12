# Gradients that are rightly None: counts, stop_gradient, predicates, py_func, argmax, back_prop=False.
import tensorflow as tf

w = tf.get_variable("w", initializer=2.0, use_resource=True)
x = tf.constant(3.0)


def show(n, y, s=w):
    try:
        print(n, tf.gradients(y, s)[0] is None)
    except Exception as e:
        print(n, type(e).__name__, str(e)[:80])


show("while int count", tf.while_loop(lambda i, a: i < tf.cast(w, tf.int32), lambda i, a: (i + 1, a * 2.0), [0, x])[1])
show("while stop", tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, a * tf.stop_gradient(w)), [0, x])[1])
show("cond pred", tf.cond(w > 1.0, lambda: x * 1.0, lambda: x * 2.0))
show("cond stop", tf.cond(x > 1.0, lambda: tf.stop_gradient(w), lambda: x * 2.0))
show("py_func", tf.py_func(lambda a: a, [w], tf.float32))
show("argmax", tf.cast(tf.argmax(tf.stack([w, x])), tf.float32))


@tf.custom_gradient
def f(a):
    return a * 1.0, lambda dy: None


show("custom None", f(w))
show("scan int", tf.scan(lambda a, b: a + b, tf.cast(tf.stack([w, x]), tf.int32)))
with tf.control_dependencies([tf.assign(w, 5.0)]):
    show("assigned const", tf.constant(1.0) * x)
show("map argmax", tf.map_fn(lambda e: tf.cast(tf.argmax(tf.stack([e, w])), tf.float32), tf.ones([3])))
show("while no_backprop", tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, a * w), [0, x], back_prop=False)[1])
