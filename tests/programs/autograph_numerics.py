"""Newton, an adaptive Runge-Kutta solver, and an oscillator fitted through one, in tf.function."""

import numpy as np
import tensorflow as tf


@tf.function
def newton(f, x, tolerance=1e-5, max_steps=50):
    """A root of f near x, and the number of steps."""
    steps = 0
    for _ in tf.range(max_steps):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        slope = tape.gradient(y, x)
        if tf.abs(slope) < 1e-8:
            x = x + 0.1
            continue
        update = y / slope
        x = x - update
        steps += 1
        if tf.abs(update) < tolerance:
            break
    return x, steps


@tf.function
def collatz(n):
    """The numbers on the way to 1, in a list that grows."""
    numbers = tf.TensorArray(tf.int32, size=0, dynamic_size=True)
    i = 0
    while n > 1:
        numbers = numbers.write(i, n)
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        i += 1
    return numbers.stack()


@tf.function
def odeint(f, y, t0, t1, rtol=1e-4, atol=1e-4):
    """Heun's method with an Euler step inside as the estimate of the error; returns y(t1) and the steps taken."""
    t, h = t0, (t1 - t0) / 20.0
    accepted, rejected = 0, 0
    while t < t1:
        h = tf.minimum(h, t1 - t)
        k1 = f(t, y)
        k2 = f(t + h, y + h * k1)
        error = tf.reduce_max(tf.abs(0.5 * h * (k2 - k1)) / (atol + rtol * tf.abs(y)))
        if error <= 1.0:
            t, y = t + h, y + 0.5 * h * (k1 + k2)
            accepted += 1
        else:
            rejected += 1
        h = h * tf.clip_by_value(0.9 / tf.sqrt(error + 1e-10), 0.3, 3.0)
    return y, accepted, rejected


@tf.function
def trapezoid(f, a, b, n):
    """An integral by adding up in a Python loop over a tensor."""
    total = 0.5 * (f(a) + f(b))
    for x in tf.linspace(a, b, n + 1)[1:-1]:
        total += f(x)
    return total * (b - a) / tf.cast(n, tf.float32)


class Oscillator(tf.Module):
    """A damped oscillator whose stiffness and friction are to be found."""

    def __init__(self):
        super().__init__()
        self.stiffness = tf.Variable(1.0)
        self.friction = tf.Variable(0.0)

    def __call__(self, state):
        position, speed = tf.unstack(state)
        return tf.stack([speed, -self.stiffness * position - self.friction * speed])


def rk4(f, state, h, steps):
    states = []
    for _ in range(steps):
        k1 = f(state)
        k2 = f(state + h / 2 * k1)
        k3 = f(state + h / 2 * k2)
        k4 = f(state + h * k3)
        state = state + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        states.append(state[0])
    return tf.stack(states)


for name, f, x in [
    ("x^2 - 2", lambda x: x * x - 2.0, 1.0),
    ("cos(x) - x", lambda x: tf.cos(x) - x, 0.0),
    ("x^3 - 2x + 2", lambda x: x**3 - 2.0 * x + 2.0, -0.5),
]:
    root, steps = newton(f, tf.constant(x))
    print(f"root of {name}: {root.numpy():.5f} after {steps.numpy()} steps")
print("collatz", collatz(tf.constant(6)).numpy())
decayed, accepted, rejected = odeint(lambda t, y: -y, tf.constant([1.0, 2.0]), tf.constant(0.0), tf.constant(2.0))
print("decay", np.round(decayed.numpy(), 5), "exact", np.round(np.exp(-2.0) * np.array([1, 2]), 5))
print("accepted", accepted.numpy(), "rejected", rejected.numpy())
area = trapezoid(tf.sin, tf.constant(0.0), tf.constant(np.pi, tf.float32), tf.constant(100))
print(f"integral of sin {area.numpy():.5f}")

measured = tf.constant(
    np.exp(-0.15 * np.arange(1, 11) * 0.4) * np.cos(np.sqrt(2.5) * np.arange(1, 11) * 0.4), tf.float32
)
model = Oscillator()
optimizer = tf.keras.optimizers.Adam(0.1)


@tf.function
def fit_step():
    with tf.GradientTape() as tape:
        path = rk4(model, tf.constant([1.0, -0.15]), 0.4, 10)
        loss = tf.reduce_mean((path - measured) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


for i in range(60):
    loss = fit_step()
    if i % 15 == 14:
        print(
            f"step {i + 1} loss {loss.numpy():.5f} stiffness {model.stiffness.numpy():.5f} "
            f"friction {model.friction.numpy():.5f}"
        )
