"""Prices of cars: LinearRegressor on vocabulary and numeric columns, Ftrl, normalizers, weighted examples."""

from __future__ import absolute_import, division, print_function

import argparse

import numpy as np
import tensorflow as tf

parser = argparse.ArgumentParser()
parser.add_argument("--batch_size", default=50, type=int, help="batch size")
parser.add_argument("--train_steps", default=200, type=int, help="number of training steps")
parser.add_argument("--price_norm_factor", default=1000.0, type=float, help="price normalization factor")

MAKES = ["audi", "bmw", "honda", "mazda", "volvo"]
BODIES = ["hardtop", "wagon", "sedan", "hatchback"]


def cars(count, seed):
    random = np.random.RandomState(seed)
    features = {
        "make": random.choice(MAKES, size=count),
        "body-style": random.choice(BODIES, size=count),
        "curb-weight": random.uniform(1500, 4000, size=count).astype(np.float32),
        "highway-mpg": random.uniform(16, 54, size=count).astype(np.float32),
        "weight": random.choice([0.5, 1.0], size=count).astype(np.float32),
    }
    price = 4.0 * features["curb-weight"] - 80.0 * features["highway-mpg"]
    price += np.array([MAKES.index(make) * 1500.0 for make in features["make"]]) + random.normal(
        scale=500.0, size=count
    )
    return features, price.astype(np.float32)


def from_dataset(data, batch_size, factor, training):
    def in_thousands(features, labels):
        return features, labels / factor

    dataset = tf.data.Dataset.from_tensor_slices(data).map(in_thousands)
    return (dataset.repeat() if training else dataset).batch(batch_size)


def main():
    args = parser.parse_args()
    train, test = cars(200, seed=0), cars(40, seed=1)
    mean, std = train[0]["curb-weight"].mean(), train[0]["curb-weight"].std()

    make = tf.feature_column.categorical_column_with_vocabulary_list("make", MAKES, num_oov_buckets=1)
    body = tf.feature_column.categorical_column_with_vocabulary_list("body-style", BODIES)
    curb = tf.feature_column.numeric_column("curb-weight", normalizer_fn=lambda x: (x - mean) / std)
    mpg = tf.feature_column.numeric_column("highway-mpg", normalizer_fn=lambda x: (x - 35.0) / 10.0)
    columns = [make, body, curb, mpg]

    # What a layer of columns gives for two rows, and how examples would be parsed.
    rows = {key: value[:2] for key, value in test[0].items()}
    with tf.Graph().as_default():
        dense = [curb, mpg, tf.feature_column.indicator_column(body)]
        layer = tf.feature_column.input_layer({key: tf.constant(value) for key, value in rows.items()}, dense)
        with tf.Session() as sess:
            sess.run([tf.global_variables_initializer(), tf.tables_initializer()])
            print(np.round(sess.run(layer), 4).tolist())
    spec = tf.feature_column.make_parse_example_spec(columns)
    print({key: type(value).__name__ for key, value in sorted(spec.items())})

    model = tf.estimator.LinearRegressor(
        feature_columns=columns,
        optimizer=tf.train.FtrlOptimizer(learning_rate=2.0, l1_regularization_strength=0.01),
        weight_column="weight",
        model_dir="cars",
    )
    model.train(lambda: from_dataset(train, args.batch_size, args.price_norm_factor, True), steps=args.train_steps)
    result = model.evaluate(lambda: from_dataset(test, 40, args.price_norm_factor, False))
    print("RMS error for the test set: ${:.1f}".format(args.price_norm_factor * result["average_loss"] ** 0.5))
    for name in sorted(name for name in model.get_variable_names() if name.endswith(("weights", "bias_weights"))):
        print(name, np.round(model.get_variable_value(name).ravel(), 4).tolist())
    predictions = model.predict(lambda: from_dataset(test, 40, args.price_norm_factor, False))
    for row, price in zip(predictions, test[1][:3]):
        print("predicted {:.3f}, price {:.3f}".format(row["predictions"][0], price / args.price_norm_factor))


if __name__ == "__main__":
    tf.logging.set_verbosity(tf.logging.ERROR)
    main()
