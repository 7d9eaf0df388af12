# Embeddings on two replicas: optimizers that sum repeated rows, in fit, eagerly and in functions.
import sys

import numpy as np
import tensorflow as tf

original = "towerstrat" not in sys.modules
if original:
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
optimizers = tf.keras.optimizers
ids = np.random.RandomState(0).randint(0, 5, (16, 3))
targets = ids.sum(1, keepdims=True).astype("f")


def mirrored():
    return tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"], cross_device_ops=tf.distribute.ReductionToOneDevice())


for strategy in (mirrored(), mirrored() if original else tf.distribute.TPUStrategy()):
    with strategy.scope():
        embedding = tf.keras.layers.Embedding(5, 2, embeddings_initializer="ones", input_length=3)
        dense = tf.keras.layers.Dense(1, kernel_initializer="ones")
        model = tf.keras.Sequential([embedding, tf.keras.layers.Flatten(), dense])
        model.compile(optimizers.Adam(0.1), "mse")
    history = model.fit(ids, targets, batch_size=8, epochs=2, shuffle=False, verbose=0)
    print("fit", [round(float(loss), 3) for loss in history.history["loss"]])

for name, make in {
    "SGD": lambda: optimizers.SGD(0.1, momentum=0.9),
    "Adam": lambda: optimizers.Adam(0.1),
    "RMSprop": lambda: optimizers.RMSprop(0.1),
    "legacy.Adam": lambda: optimizers.legacy.Adam(0.1),
    "v1.Momentum": lambda: tf.compat.v1.train.MomentumOptimizer(0.1, 0.9),
}.items():
    for mode in ("eager", "function"):
        strategy = mirrored()
        with strategy.scope():
            table = tf.Variable(np.linspace(-1, 1, 12).reshape(4, 3).astype("f"))
            optimizer = make()

        def step(rows, table=table, optimizer=optimizer):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(tf.square(tf.gather(table, rows)))
            optimizer.apply_gradients([(tape.gradient(loss, table), table)])
            return loss

        def run(rows, strategy=strategy, step=step):
            return strategy.run(step, args=(rows,))

        if mode == "function":
            run = tf.function(run)
        data = tf.data.Dataset.from_tensor_slices([2, 2, 1, 3, 0, 2, 1, 1]).batch(4)
        for rows in strategy.experimental_distribute_dataset(data):
            run(rows)
        print(name, mode, np.round(table.numpy().sum(1), 4).tolist())
