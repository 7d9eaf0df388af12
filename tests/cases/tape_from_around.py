# A tape that records around a function is asked inside of it, for what is computed there and for what was before.
import tensorflow as tf

w = tf.Variable(2.0)


def show(name, f, eagerly=True):
    for way, g in (("eager", f), ("function", tf.function(f)))[not eagerly :]:
        print(name, way, [None if x is None else x.numpy().tolist() for x in g()])


def asked_inside():
    x = tf.constant(3.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x * w

        @tf.function
        def inner():
            return tape.gradient(y, x)

    return inner(), tape.gradient(y, [x, w])[1]


def watched_inside():
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:

        @tf.function
        def inner(x):
            tape.watch(x)
            y = x * x * w
            return y, tape.gradient(y, x)

        return inner(x)


def given():
    x = tf.constant(3.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)

        @tf.function
        def inner(z):
            return tape.gradient(z * z * w, [z, w])

        return inner(x * 2.0)


def captured():
    x = tf.constant(3.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        z = x * 2.0

        @tf.function
        def inner():
            return tape.gradient(z * z * w, [z, w])

        return inner()


def between():
    x = tf.constant(3.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        z = x * 2.0

        @tf.function
        def inner():
            return tape.gradient(z * z * w, [x, z, w])

        return inner()


def jacobian():
    x = tf.constant([3.0, 4.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)

        @tf.function
        def inner(x):
            tape.watch(x)
            return tape.jacobian(x * x * w, [x, w])

        return inner(x)


show("asked inside", asked_inside)
show("watched inside", watched_inside)
show("given", given)
show("captured", captured)
show("between", between, eagerly=False)
show("jacobian", jacobian)
