"""Wide and deep learning on a census: buckets, crosses, hashes and embeddings."""

from __future__ import absolute_import, division, print_function

import argparse
import sys

import numpy as np
import tensorflow as tf

_CSV_COLUMNS = ["age", "education", "marital_status", "occupation", "hours_per_week", "capital_gain", "income_bracket"]
_CSV_COLUMN_DEFAULTS = [[0], [""], [""], [""], [0], [0], [""]]
EDUCATION = ["Bachelors", "HS-grad", "11th", "Masters", "Doctorate"]
MARITAL = ["Married-civ-spouse", "Divorced", "Never-married"]
OCCUPATIONS = ["Tech-support", "Craft-repair", "Sales", "Exec-managerial", "Farming-fishing"]

parser = argparse.ArgumentParser()
parser.add_argument("--model_type", type=str, default="wide_deep", help="Valid model types: {'wide', 'wide_deep'}.")
parser.add_argument("--train_epochs", type=int, default=4)
parser.add_argument("--epochs_per_eval", type=int, default=4)
parser.add_argument("--batch_size", type=int, default=40)


def write_census(path, count, seed):
    random = np.random.RandomState(seed)
    with open(path, "w") as f:
        for _ in range(count):
            age, hours, gain = random.randint(17, 80), random.randint(10, 70), random.randint(2) * random.randint(5000)
            words = [random.choice(choices) for choices in (EDUCATION, MARITAL, OCCUPATIONS)]
            score = (age > 35) + (hours > 38) + 2 * (words[0] in ("Masters", "Doctorate")) + gain / 4000.0
            f.write(",".join([str(age)] + words + [str(hours), str(gain), ">50K" if score > 2.2 else "<=50K"]) + "\n")


def build_model_columns():
    age = tf.feature_column.numeric_column("age")
    hours_per_week = tf.feature_column.numeric_column("hours_per_week")
    capital_gain = tf.feature_column.numeric_column("capital_gain")
    education = tf.feature_column.categorical_column_with_vocabulary_list("education", EDUCATION)
    marital_status = tf.feature_column.categorical_column_with_vocabulary_list("marital_status", MARITAL)
    occupation = tf.feature_column.categorical_column_with_hash_bucket("occupation", hash_bucket_size=100)
    age_buckets = tf.feature_column.bucketized_column(age, boundaries=[18, 25, 30, 35, 40, 45, 50, 55, 60, 65])

    base_columns = [education, marital_status, occupation, age_buckets]
    crossed_columns = [
        tf.feature_column.crossed_column(["education", "occupation"], hash_bucket_size=1000),
        tf.feature_column.crossed_column([age_buckets, "education", "occupation"], hash_bucket_size=1000),
    ]
    deep_columns = [
        age,
        hours_per_week,
        capital_gain,
        tf.feature_column.indicator_column(education),
        tf.feature_column.indicator_column(marital_status),
        tf.feature_column.embedding_column(occupation, dimension=4),
    ]
    return base_columns + crossed_columns, deep_columns


def build_estimator(model_dir, model_type):
    wide_columns, deep_columns = build_model_columns()
    run_config = tf.estimator.RunConfig().replace(session_config=tf.ConfigProto(device_count={"GPU": 0}))
    if model_type == "wide":
        return tf.estimator.LinearClassifier(wide_columns, model_dir, config=run_config)
    return tf.estimator.DNNLinearCombinedClassifier(
        model_dir=model_dir,
        linear_feature_columns=wide_columns,
        dnn_feature_columns=deep_columns,
        dnn_optimizer=tf.train.AdagradOptimizer(0.05),
        dnn_hidden_units=[16, 8],
        config=run_config,
    )


def input_fn(data_file, num_epochs, batch_size):
    def parse_csv(value):
        columns = tf.decode_csv(value, record_defaults=_CSV_COLUMN_DEFAULTS)
        features = dict(zip(_CSV_COLUMNS, columns))
        labels = features.pop("income_bracket")
        return features, tf.equal(labels, ">50K")

    dataset = tf.data.TextLineDataset(data_file).map(parse_csv, num_parallel_calls=5)
    return dataset.repeat(num_epochs).batch(batch_size)


class InitialValues(tf.train.SessionRunHook):
    """Values of NumPy's generator in the first session."""

    def begin(self):
        random = np.random.RandomState(0)
        variables = sorted(tf.trainable_variables(), key=lambda v: v.name)
        self._assign = [tf.assign(v, random.normal(scale=0.1, size=v.shape.as_list())) for v in variables]

    def after_create_session(self, session, coord):
        if session.run(tf.train.get_global_step()) == 0:
            session.run(self._assign)


def main(unused_argv):
    write_census("adult.data", 400, seed=0)
    write_census("adult.test", 100, seed=1)
    model = build_estimator("census_model", FLAGS.model_type)
    for n in range(FLAGS.train_epochs // FLAGS.epochs_per_eval):
        train_fn = lambda: input_fn("adult.data", FLAGS.epochs_per_eval, FLAGS.batch_size)  # noqa: E731
        model.train(input_fn=train_fn, hooks=[InitialValues()])
        results = model.evaluate(input_fn=lambda: input_fn("adult.test", 1, FLAGS.batch_size))
        print("Results at epoch", (n + 1) * FLAGS.epochs_per_eval)
        print("-" * 40)
        for key in sorted(results):
            print("%s: %.5f" % (key, results[key]))
    predictions = model.predict(input_fn=lambda: input_fn("adult.test", 1, FLAGS.batch_size))
    print(["%.4f" % row["probabilities"][1] for row, _ in zip(predictions, range(5))])


if __name__ == "__main__":
    tf.logging.set_verbosity(tf.logging.ERROR)
    FLAGS, unparsed = parser.parse_known_args()
    tf.app.run(main=main, argv=[sys.argv[0]] + unparsed)
