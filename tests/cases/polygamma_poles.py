# zeta, digamma and polygamma at poles and at infinity, with their gradients: 1.12.3 and 2.15.1 differ there.
import numpy as np
import tensorflow as tf

if tf.__version__ >= "2":
    tf = tf.compat.v1
    tf.disable_eager_execution()
inf = float("inf")
a, b = [0.0, 1.0, 2.0, 3.0, 0.5, 1.5, -1.0, -2.0, inf, 4.0], [0.0, -1.0, -2.0, -0.5, -1.5, 1.0, 0.5, 2.0, inf, -inf]
a, b = (side.ravel() for side in np.meshgrid(a, b))
for dtype in ("float32", "float64"):
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = tf.placeholder(dtype, [None]), tf.placeholder(dtype, [None])
        for name, result in (("zeta", tf.zeta(x, y)), ("polygamma", tf.polygamma(x, y)), ("digamma", tf.digamma(y))):
            values = session.run([result, tf.gradients(result, y)[0]], {x: a, y: b})
            print(dtype, name, [[f"{v:.4g}" for v in column] for column in values])
