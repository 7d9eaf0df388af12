"""A training loop of one's own on two replicas: run, reduce, distributed datasets, a checkpoint inside the scope."""

import numpy as np
import tensorflow as tf

cpus = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpus[0], [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
print(f"Number of devices: {strategy.num_replicas_in_sync}")

GLOBAL_BATCH_SIZE = 8 * strategy.num_replicas_in_sync
EPOCHS = 5


def spirals(n, seed):
    rng = np.random.RandomState(seed)
    t = rng.uniform(0.3, 1.0, n)
    label = rng.randint(0, 2, n)
    angle = 4.0 * t + np.pi * label
    x = np.stack([t * np.cos(angle), t * np.sin(angle)], axis=1) + rng.normal(0, 0.03, (n, 2))
    return x.astype(np.float32), label.astype(np.float32)[:, None]


train_dataset = tf.data.Dataset.from_tensor_slices(spirals(200, 0)).batch(GLOBAL_BATCH_SIZE)
test_dataset = tf.data.Dataset.from_tensor_slices(spirals(72, 1)).batch(GLOBAL_BATCH_SIZE)
train_dist_dataset = strategy.experimental_distribute_dataset(train_dataset)
test_dist_dataset = strategy.experimental_distribute_dataset(test_dataset)


def create_model():
    regularizer = tf.keras.regularizers.L2(1e-4)
    return tf.keras.Sequential(
        [
            tf.keras.layers.Dense(16, "tanh", kernel_regularizer=regularizer, input_shape=(2,)),
            tf.keras.layers.Dense(16, "tanh", kernel_regularizer=regularizer),
            tf.keras.layers.Dense(1),
        ]
    )


with strategy.scope():
    loss_object = tf.keras.losses.BinaryCrossentropy(from_logits=True, reduction=tf.keras.losses.Reduction.NONE)

    def compute_loss(labels, predictions, model_losses):
        per_example_loss = loss_object(labels, predictions)
        loss = tf.nn.compute_average_loss(per_example_loss, global_batch_size=GLOBAL_BATCH_SIZE)
        if model_losses:
            loss += tf.nn.scale_regularization_loss(tf.add_n(model_losses))
        return loss

    test_loss = tf.keras.metrics.Mean(name="test_loss")
    train_accuracy = tf.keras.metrics.BinaryAccuracy(name="train_accuracy", threshold=0.0)
    test_accuracy = tf.keras.metrics.BinaryAccuracy(name="test_accuracy", threshold=0.0)
    model = create_model()
    rng = np.random.RandomState(2)
    model.set_weights([rng.normal(0, 0.7, w.shape) if w.ndim > 1 else w for w in model.get_weights()])
    optimizer = tf.keras.optimizers.Adam(learning_rate=0.03)
    examples = tf.Variable(0, aggregation=tf.VariableAggregation.SUM, trainable=False)
    checkpoint = tf.train.Checkpoint(optimizer=optimizer, model=model)


def train_step(inputs):
    x, labels = inputs
    with tf.GradientTape() as tape:
        predictions = model(x, training=True)
        loss = compute_loss(labels, predictions, model.losses)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    train_accuracy.update_state(labels, predictions)
    examples.assign_add(tf.shape(x)[0])
    return loss


def test_step(inputs):
    x, labels = inputs
    predictions = model(x, training=False)
    test_loss.update_state(loss_object(labels, predictions))
    test_accuracy.update_state(labels, predictions)


@tf.function
def distributed_train_step(dataset_inputs):
    per_replica_losses = strategy.run(train_step, args=(dataset_inputs,))
    return strategy.reduce(tf.distribute.ReduceOp.SUM, per_replica_losses, axis=None)


@tf.function
def distributed_test_step(dataset_inputs):
    return strategy.run(test_step, args=(dataset_inputs,))


for epoch in range(EPOCHS):
    total_loss = 0.0
    num_batches = 0
    for x in train_dist_dataset:
        total_loss += distributed_train_step(x)
        num_batches += 1
    for x in test_dist_dataset:
        distributed_test_step(x)
    if epoch % 2 == 0:
        checkpoint.save("./training_checkpoints/ckpt")
    print(
        f"Epoch {epoch + 1}, Loss: {total_loss / num_batches:.5f}, Accuracy: {100 * train_accuracy.result():.2f}, "
        f"Test Loss: {test_loss.result():.5f}, Test Accuracy: {100 * test_accuracy.result():.2f}"
    )
    test_loss.reset_states()
    train_accuracy.reset_states()
    test_accuracy.reset_states()
print("examples seen", examples.numpy(), "steps", optimizer.iterations.numpy())

eval_accuracy = tf.keras.metrics.BinaryAccuracy(name="eval_accuracy", threshold=0.0)
new_model = create_model()
tf.train.Checkpoint(model=new_model).restore(tf.train.latest_checkpoint("./training_checkpoints")).expect_partial()


@tf.function
def eval_step(x, labels):
    eval_accuracy(labels, new_model(x, training=False))


for x, labels in test_dataset:
    eval_step(x, labels)
print(f"Accuracy after restoring the saved model without strategy: {100 * eval_accuracy.result():.2f}")
