# Session.run of a name in bytes and of an attrs class (the package attrs must be there).
import attr
import tensorflow as tf


@attr.s
class S:
    a = attr.ib()
    b = attr.ib()


with tf.Session() as s:
    x = tf.constant(1.0, name="x")
    for f in (lambda: s.run(b"x:0"), lambda: s.run(S(a=x, b=x + 1))):
        try:
            print(f())
        except Exception as e:
            print(type(e).__name__, str(e)[:150])
