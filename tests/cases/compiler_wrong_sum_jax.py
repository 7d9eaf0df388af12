# The same in plain JAX: each line ends with the largest error against NumPy.
import jax
import jax.numpy as jnp
import numpy as np


def f(c, xn):
    return jnp.sum(jnp.matmul(c, jnp.swapaxes(jnp.broadcast_to(xn, (len(c), *xn.shape)), -1, -2)), 1)


def run(N, K, D, f=f):
    rng = np.random.RandomState(1)
    c = rng.randint(-3, 4, (N, D, D)).astype(np.float32)
    xn = rng.randint(-3, 4, (K, D)).astype(np.float32)
    return float(np.abs(np.asarray(jax.jit(f)(c, xn)) - (c @ xn.T).sum(1)).max()), (c, xn)


if __name__ == "__main__":
    for N, K, D in [
        (5, 1000, 2),
        (1, 1000, 2),
        (2, 1000, 2),
        (5, 128, 2),
        (5, 256, 2),
        (5, 512, 2),
        (5, 1000, 8),
        (5, 1000, 64),
        (32, 64, 64),
    ]:
        print((N, K, D), run(N, K, D)[0], flush=True)
    print(
        "no broadcast:",
        run(
            5,
            1000,
            2,
            lambda c, xn: jnp.sum(jnp.matmul(c, jnp.swapaxes(jnp.stack([xn + 0 * i for i in range(5)]), -1, -2)), 1),
        )[0],
    )
    print("jitted with the transposed one given:", end=" ")
    e, (c, xn) = run(5, 1000, 2)
    b = np.ascontiguousarray(np.broadcast_to(xn.T, (5, 2, 1000)))
    print(float(np.abs(np.asarray(jax.jit(lambda c, b: jnp.sum(jnp.matmul(c, b), 1))(c, b)) - (c @ b).sum(1)).max()))
    b2 = np.ascontiguousarray(np.broadcast_to(xn, (5, 1000, 2)))
    print(
        "rhs given in full, not broadcast inside:",
        float(
            np.abs(
                np.asarray(jax.jit(lambda c, b: jnp.sum(jnp.matmul(c, jnp.swapaxes(b, -1, -2)), 1))(c, b2))
                - (c @ xn.T).sum(1)
            ).max()
        ),
    )
    print(
        "bcast, no transpose:",
        float(
            np.abs(
                np.asarray(
                    jax.jit(lambda c, x: jnp.sum(jnp.matmul(c, jnp.broadcast_to(x, (5, 2, 1000))), 1))(c, xn.T.copy())
                )
                - (c @ xn.T).sum(1)
            ).max()
        ),
    )
