"""Mixed precision of keras 2.15: programs that keras_objects.py runs on the original."""

import numpy as np

try:
    from keras_objects_cases import plain
except ImportError:
    from tests.golden.keras_objects_cases import plain

_R = np.random.RandomState(13)
X = _R.randn(16, 3).astype("float32")
Y = _R.randn(16, 1).astype("float32")
W = np.array([[1.5, -2.0], [0.25, 3.0]], "float32")

OPERATORS = {
    "add": lambda tf, v: v + v, "radd": lambda tf, v: 1.0 + v, "sub": lambda tf, v: v - 0.5,
    "rsub": lambda tf, v: 2.0 - v, "mul": lambda tf, v: v * v, "rmul": lambda tf, v: 3.0 * v,
    "truediv": lambda tf, v: v / 2.0, "rtruediv": lambda tf, v: 2.0 / v, "floordiv": lambda tf, v: v // 0.5,
    "rfloordiv": lambda tf, v: 4.0 // v, "mod": lambda tf, v: v % 2.0, "rmod": lambda tf, v: 2.0 % v,
    "lt": lambda tf, v: v < 1.0, "le": lambda tf, v: v <= 1.5, "gt": lambda tf, v: v > 1.0,
    "ge": lambda tf, v: v >= 1.5, "getitem": lambda tf, v: v[0], "part": lambda tf, v: v[:, 1:],
    "pow": lambda tf, v: v**2.0, "rpow": lambda tf, v: 2.0**v, "neg": lambda tf, v: -v, "abs": lambda tf, v: abs(v),
    "matmul": lambda tf, v: v @ v, "rmatmul": lambda tf, v: tf.ones([2, 2], v.read_value().dtype) @ v,
    "equal": lambda tf, v: tf.equal(v, 1.5), "convert": lambda tf, v: tf.convert_to_tensor(v),
    "identity": lambda tf, v: tf.identity(v), "value": lambda tf, v: v.value(), "read": lambda tf, v: v.read_value(),
    "sparse_read": lambda tf, v: v.sparse_read([1, 1]), "gather": lambda tf, v: tf.gather(v, [1, 0]),
    "gather_nd": lambda tf, v: v.gather_nd([[0, 1]]), "cast": lambda tf, v: tf.cast(v, "float32"),
    "function": lambda tf, v: tf.nn.relu(v), "stack": lambda tf, v: tf.stack([v, v]),
    "stack_other": lambda tf, v: tf.stack([tf.zeros([2, 2], v.read_value().dtype), v], axis=1),
    "stack_rows": lambda tf, v: tf.stack([v[0], v[1]]), "concat": lambda tf, v: tf.concat([v, v], 0),
    "concat_other": lambda tf, v: tf.concat([v, v * 2], 1), "add_n": lambda tf, v: tf.add_n([v, v]),
    "list": lambda tf, v: tf.convert_to_tensor([v, v]), "lists": lambda tf, v: tf.convert_to_tensor([[v, v], [v, v]]),
    "einsum": lambda tf, v: tf.einsum("ij,jk->ik", v, v), "tensordot": lambda tf, v: tf.tensordot(v, v, 1),
    "k_stack": lambda tf, v: tf.keras.backend.stack([v, v]), "tile": lambda tf, v: tf.tile(v, [1, 2]),
    "k_concatenate": lambda tf, v: tf.keras.backend.concatenate([v, v]), "split": lambda tf, v: tf.split(v, 2)[1],
    "stitch": lambda tf, v: tf.dynamic_stitch([[0], [1]], [v[:1], v[1:]]),
    "identity_n": lambda tf, v: tf.identity_n([v, v])[1], "map_fn": lambda tf, v: tf.map_fn(lambda row: row * 2, v),
    "global_norm": lambda tf, v: tf.linalg.global_norm([v, v]), "maximum": lambda tf, v: tf.maximum(v, 1.0),
    "k_layer": lambda tf, v: tf.keras.layers.Concatenate()([v, v]),
}  # fmt: skip
ASSIGNMENTS = {
    "assign": lambda tf, v: v.assign(W * 2),
    "assign_add": lambda tf, v: v.assign_add(W),
    "assign_sub": lambda tf, v: v.assign_sub(W, read_value=False),
    "scatter_update": lambda tf, v: v.scatter_update(tf.IndexedSlices([[9.0, 8.0]], [1])),
    "scatter_add": lambda tf, v: v.scatter_add(tf.IndexedSlices([[9.0, 8.0]], [0])),
    "scatter_sub": lambda tf, v: v.scatter_sub(tf.IndexedSlices([[9.0, 8.0]], [0])),
    "scatter_max": lambda tf, v: v.scatter_max(tf.IndexedSlices([[0.0, 8.0]], [0])),
    "scatter_nd_update": lambda tf, v: v.scatter_nd_update([[0, 0]], [7.0]),
    "scatter_nd_add": lambda tf, v: v.scatter_nd_add([[0, 0]], [7.0]),
}


def _keeping(tf, run):
    """A layer whose call runs ``run(variable)``."""

    class Keeping(tf.keras.layers.Layer):
        def build(self, shape):
            self.kept = self.add_weight("kept", shape=(2, 2), initializer=tf.constant_initializer(W))

        def call(self, inputs):
            return run(self.kept)

    return Keeping


def operators(tf, policy, wrap):
    """In a layer's call each operator sees the variable in the type of computing."""
    found = {}
    for name, operator in OPERATORS.items():
        layer = _keeping(tf, lambda v, operator=operator: operator(tf, v))(dtype=policy)
        result = wrap(layer)(tf.zeros([1]))
        found[name] = [result.dtype.name, tf.cast(result, tf.float32)]
    return found


def assignments(tf, policy, wrap):
    """Assignments take the type of the variable, outside of calls and in them."""
    found = {}
    for name, assign in ASSIGNMENTS.items():
        layer = _keeping(tf, lambda v: v)(dtype=policy)
        layer(tf.zeros([1]))
        wrap(lambda assign=assign, layer=layer: (assign(tf, layer.kept), 0)[1])()
        found[name] = [layer.kept.dtype.name, layer.kept]
    layer = _keeping(tf, lambda v: v.assign(W + 1))(dtype=policy)
    found["in_call"] = [layer(tf.zeros([1])).dtype.name, layer.kept.numpy()]
    return found


def policies(tf, policy, wrap):
    made = tf.keras.mixed_precision.Policy(policy)
    dense = tf.keras.layers.Dense(2, dtype=made)
    result = dense(X)
    config = tf.keras.layers.Dense.from_config(dense.get_config()).get_config()
    return [
        made.name, made.compute_dtype, made.variable_dtype, made.get_config(), result.dtype.name, dense.dtype,
        dense.compute_dtype, dense.kernel.dtype.name, dense.get_config()["dtype"], config["dtype"],
    ]  # fmt: skip


SPOILT = {0: None, 1: None, 2: np.inf, 3: None, 4: np.nan, 5: None, 6: None, 7: None, 8: None}


def scaling(tf, policy, wrap):
    """Scale, counter, variable and steps after each of some gradients, two of which are not finite."""
    keras = tf.keras
    found = {}
    for name, place in (("new", keras.optimizers), ("legacy", keras.optimizers.legacy)):
        for kind, how in (("dynamic", {"initial_scale": 8.0, "dynamic_growth_steps": 2}),
                          ("fixed", {"dynamic": False, "initial_scale": 4.0})):  # fmt: skip
            variable = tf.Variable([1.0, 2.0])
            made = keras.mixed_precision.LossScaleOptimizer(place.SGD(0.1, momentum=0.5), **how)

            def step(spoilt, made=made, variable=variable):
                with tf.GradientTape() as tape:
                    loss = tf.reduce_sum(variable * [1.0, 3.0])
                    scaled = made.get_scaled_loss(loss)
                grads = made.get_unscaled_gradients(tape.gradient(scaled, [variable]))
                if spoilt is not None:
                    grads = [grads[0] * spoilt]
                made.apply_gradients(zip(grads, [variable]))  # noqa: B905
                return scaled

            steps = []
            for spoilt in SPOILT.values() if kind == "dynamic" else [None, None]:
                scaled = wrap(step)(spoilt)
                counter = made.dynamic_counter.numpy() if kind == "dynamic" else 0
                steps.append([scaled, made.loss_scale, counter, made.iterations.numpy(), variable.numpy()])
            own = made.variables() if callable(made.variables) else made.variables
            again = type(made).from_config(made.get_config())
            found[f"{name}_{kind}"] = [
                steps, made.dynamic, made.initial_scale, made.dynamic_growth_steps, made.get_config(),
                [[each.name, each.dtype.name, each.shape.as_list()] for each in own],
                again.get_config() == made.get_config(), type(made.inner_optimizer).__name__,
            ]  # fmt: skip
    return plain(found)


def replicas(tf, policy, wrap):
    """A gradient that is not finite on one replica: all leave the step out."""
    keras = tf.keras
    found = {}
    for name, place in (("new", keras.optimizers), ("legacy", keras.optimizers.legacy)):
        strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
        with strategy.scope():
            variable = tf.Variable([1.0, 2.0])
            made = keras.mixed_precision.LossScaleOptimizer(place.SGD(0.1), initial_scale=8.0, dynamic_growth_steps=2)

        def step(factor, made=made, variable=variable):
            made.apply_gradients([(factor * tf.constant([1.0, 3.0]), variable)])

        steps = []
        for spoilt in (1.0, np.inf, 2.0, 1.0, 1.0):
            factors = strategy.experimental_distribute_values_from_function(
                lambda at, spoilt=spoilt: tf.constant(spoilt if at.replica_id_in_sync_group else 1.0)
            )
            strategy.run(tf.function(step), (factors,))
            steps.append([made.loss_scale, made.dynamic_counter.numpy(), made.iterations.numpy(), variable.numpy()])
        found[name] = steps
    return found


def training(tf, policy, wrap):
    """``fit`` by a policy."""
    keras = tf.keras
    keras.mixed_precision.set_global_policy(policy)
    try:
        made = keras.Sequential([
            keras.layers.Dense(4, "relu", kernel_initializer="ones", input_shape=(3,), name="first"),
            keras.layers.BatchNormalization(name="norm"),
            keras.layers.Dense(1, kernel_initializer="ones", name="last"),
            keras.layers.Activation("linear", dtype="float32", name="end"),
        ])  # fmt: skip
        made.compile("sgd", "mse")
    finally:
        keras.mixed_precision.set_global_policy("float32")
    losses = made.fit(X, Y, epochs=3, batch_size=8, shuffle=False, verbose=0).history["loss"]
    return [
        losses, type(made.optimizer).__name__, [layer.compute_dtype for layer in made.layers],
        [[each.name, each.dtype.name] for each in made.weights], made.predict(X[:2], verbose=0).dtype.name,
    ]  # fmt: skip


PROGRAMS = {"operators": operators, "assignments": assignments, "policies": policies, "training": training}
CASES = [("replicas", "mixed_float16"), ("scaling", "mixed_float16")]
CASES += [(name, policy) for name in PROGRAMS for policy in ("mixed_float16", "mixed_bfloat16", "float32")]
PROGRAMS.update(scaling=scaling, replicas=replicas)


def _run(program):
    return lambda tf, policy, wrap=lambda f: f: plain(program(tf, policy, wrap))


RUN = {name: _run(program) for name, program in PROGRAMS.items()}
