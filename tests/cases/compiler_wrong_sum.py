# A product with a broadcast operand, then a sum, in one program; some versions of jaxlib on the CPU add wrongly.
import itertools

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(1)
N, D, H = 5, 2, 100
mu = rng.randn(N, D)
A = rng.randn(N, D, D)
cov = A @ A.transpose(0, 2, 1)
gh_x, gh_w = np.polynomial.hermite.hermgauss(H)
xn = np.array(list(itertools.product(*(gh_x,) * D)))
wn = np.prod(np.array(list(itertools.product(*(gh_w,) * D))), 1)
exact = (mu**2).sum(1) + np.trace(cov, axis1=1, axis2=2)
print("exact", exact)


def quad(means, covs, var):
    n = tf.shape(means)[0]
    chol = tf.reshape(tf.cholesky(covs), [n, D, D])
    Xt = tf.matmul(chol, tf.tile(xn[None, :, :], [n, 1, 1]), transpose_b=True)
    X = 2.0**0.5 * Xt + tf.expand_dims(means, 2)
    Xr = tf.reshape(tf.transpose(X, [2, 0, 1]), (-1, D))
    f = tf.reduce_sum(tf.square(Xr) * var, 1)
    fX = tf.reshape(f, (H**D, n))
    wr = np.reshape(wn * np.pi ** (-D * 0.5), (-1, 1))
    return tf.reduce_sum(fX * wr, 0), Xr, f, fX, chol


with tf.Session() as s:
    q = quad(tf.convert_to_tensor(mu), tf.convert_to_tensor(cov), tf.Variable(np.float64(1.0)))
    s.run(tf.global_variables_initializer())
    v = s.run(q[0])
    print("quad ", v)
    r = s.run(q)
    print("quad with others fetched", r[0])
    print("numpy from fetched", (r[3] * (wn / np.pi)[:, None]).sum(0))
