"""Turns a compiled Keras model into an Estimator and trains it with train_and_evaluate."""

import numpy as np
import tensorflow as tf

tf.logging.set_verbosity(tf.logging.ERROR)

FEATURES = ["sepal_length", "sepal_width", "petal_length", "petal_width"]
SPECIES = ["Setosa", "Versicolor", "Virginica"]


def flowers(n, seed):
    """Measurements around three means, in place of the iris file."""
    rng = np.random.RandomState(seed)
    means = np.array([[5.0, 3.4, 1.5, 0.2], [5.9, 2.8, 4.3, 1.3], [6.6, 3.0, 5.5, 2.0]])
    labels = rng.randint(0, 3, n)
    values = means[labels] + rng.normal(0, 0.25, (n, 4))
    return values.astype(np.float32), labels.astype(np.int32)


def standardized(values):
    return (values - np.float32([5.8, 3.1, 3.8, 1.2])) / np.float32([0.8, 0.4, 1.8, 0.8])


def train_input_fn(batch_size=30):
    values, labels = flowers(240, 0)
    dataset = tf.data.Dataset.from_tensor_slices((standardized(values), labels[:, None]))
    dataset = dataset.map(lambda x, y: ({"measurements": x}, y))
    return dataset.repeat().batch(batch_size).prefetch(1)


def eval_input_fn(batch_size=30):
    values, labels = flowers(90, 1)
    dataset = tf.data.Dataset.from_tensor_slices(({"measurements": standardized(values)}, labels[:, None]))
    return dataset.batch(batch_size)


def initial(*shape, seed):
    return tf.keras.initializers.Constant(np.random.RandomState(seed).normal(0, 0.5, shape).tolist())


def build_model():
    inputs = tf.keras.layers.Input(shape=(len(FEATURES),), name="measurements")
    x = tf.keras.layers.Dense(10, activation="relu", kernel_initializer=initial(4, 10, seed=1), name="hidden")(inputs)
    x = tf.keras.layers.Dense(10, activation="relu", kernel_initializer=initial(10, 10, seed=2), name="hidden_2")(x)
    outputs = tf.keras.layers.Dense(
        len(SPECIES), activation="softmax", kernel_initializer=initial(10, 3, seed=3), name="species"
    )(x)
    model = tf.keras.models.Model(inputs=inputs, outputs=outputs)
    model.compile(
        loss="sparse_categorical_crossentropy",
        optimizer=tf.keras.optimizers.SGD(lr=0.1, momentum=0.9),
        metrics=["sparse_categorical_accuracy"],
    )
    return model


def main(_):
    config = tf.estimator.RunConfig(model_dir="model", save_checkpoints_steps=40, tf_random_seed=1)
    estimator = tf.keras.estimator.model_to_estimator(keras_model=build_model(), config=config)

    for steps in (40, 80, 120):
        estimator.train(train_input_fn, max_steps=steps)
        result = estimator.evaluate(eval_input_fn)
        print(
            "step %d: loss %.5f accuracy %.5f"
            % (result["global_step"], result["loss"], result["sparse_categorical_accuracy"])
        )
    result, _ = tf.estimator.train_and_evaluate(
        estimator,
        tf.estimator.TrainSpec(train_input_fn, max_steps=160),
        tf.estimator.EvalSpec(eval_input_fn, steps=None, throttle_secs=0),
    )
    print(f"train_and_evaluate: step {result['global_step']} loss {result['loss']:.5f}")

    print("latest", tf.train.latest_checkpoint("model"))
    kernel = estimator.get_variable_value("species/kernel")
    print("species kernel", kernel.shape, np.round(kernel[0], 5))
    values, labels = flowers(6, 2)
    predictions = estimator.predict(
        tf.compat.v1.estimator.inputs.numpy_input_fn({"measurements": standardized(values)}, shuffle=False)
    )
    for prediction, label in zip(predictions, labels):
        chances = prediction["species"]
        guess = int(np.argmax(chances))
        print(f"Prediction is {SPECIES[guess]} ({chances[guess]:.5f}), expected {SPECIES[label]}")


if __name__ == "__main__":
    tf.app.run(main)
