# What an assignment returns is the variable: its gradient is the variable's, its value the last one.
import tensorflow as tf


def show(name, f):
    for way, g in (("eager", f), ("function", tf.function(f))):
        print(name, way, [x.numpy().tolist() if tf.is_tensor(x) else x for x in g()])


w = tf.Variable([2.0, 3.0])
v = tf.constant([5.0, 7.0])


def case(assign):
    def f():
        w.assign([2.0, 3.0])
        with tf.GradientTape() as t:
            t.watch(v)
            y = assign() * 3.0
        return y, *t.gradient(y, [w, v], unconnected_gradients="none")

    return f


show("assign", case(lambda: w.assign(v)))
show("identity", case(lambda: tf.identity(w.assign(v))))
show("add", case(lambda: w.assign_add(v)))
show("sub", case(lambda: w.assign_sub(v)))
show("scatter", case(lambda: w.scatter_update(tf.IndexedSlices(v[:1], [0]))))
show("scatter_nd", case(lambda: w.scatter_nd_update([[1]], v[:1])))
show("slice", case(lambda: w[:1].assign(v[:1])))
show("both", case(lambda: w.assign(w * w + v)))


def later():
    a = w.assign([1.0, 1.0])
    w.assign([4.0, 4.0])
    return (a + 0.0,)


show("later", later)


def chain():
    a = w.assign([1.0, 1.0]).assign_add([4.0, 4.0])
    return (a + 0.0, a.read_value(), a.value())


show("chain", chain)


def in_branch():
    with tf.GradientTape() as t:
        y = tf.cond(v[0] > 0, lambda: w.assign(v) * 2.0, lambda: w * 1.0)
    return y, t.gradient(y, w)


show("cond", in_branch)


def in_loop():
    w.assign([2.0, 3.0])
    with tf.GradientTape() as t:
        y, _ = tf.while_loop(lambda y, i: i < 3, lambda y, i: (y + w.assign_add(v) * 2.0, i + 1), [tf.zeros([2]), 0])
    return y, t.gradient(y, w)


show("loop", in_loop)


def control():
    w.assign([2.0, 3.0])
    with tf.control_dependencies([w.assign_add(v)]):
        y = tf.identity(w)
    return (y,)


show("control", control)


def group():
    w.assign([2.0, 3.0])
    tf.group(w.assign_add(v), w.assign_add(v))
    return (w.read_value(),)


show("group", group)


def second():
    w.assign([2.0, 3.0])
    with tf.GradientTape() as t2:
        with tf.GradientTape() as t:
            y = w.assign_add(v) ** 3
        g = t.gradient(y, w)
    return y, g, t2.gradient(g, w)


show("second", second)
