"""A canned DNNClassifier on numeric columns, with input functions of NumPy arrays."""

from __future__ import absolute_import, division, print_function

import numpy as np
import tensorflow as tf

FEATURES = ["SepalLength", "SepalWidth", "PetalLength", "PetalWidth"]
SPECIES = ["Setosa", "Versicolor", "Virginica"]
CENTERS = np.array([[5.0, 3.4, 1.5, 0.2], [5.9, 2.8, 4.3, 1.3], [6.6, 3.0, 5.6, 2.0]])


def load_data(count, seed):
    random = np.random.RandomState(seed)
    labels = np.arange(count) % 3
    rows = CENTERS[labels] + random.normal(scale=0.2, size=(count, 4))
    return {name: rows[:, i].astype(np.float32) for i, name in enumerate(FEATURES)}, labels.astype(np.int32)


def train_input_fn(features, labels, batch_size):
    dataset = tf.data.Dataset.from_tensor_slices((dict(features), labels))
    return dataset.repeat().batch(batch_size)


def eval_input_fn(features, labels, batch_size):
    inputs = dict(features) if labels is None else (dict(features), labels)
    assert batch_size is not None, "batch_size must not be None"
    return tf.data.Dataset.from_tensor_slices(inputs).batch(batch_size)


class InitialValues(tf.train.SessionRunHook):
    """Gives the variables values that do not depend on TensorFlow's random numbers."""

    def begin(self):
        random = np.random.RandomState(0)
        self._assign = [
            tf.assign(v, random.normal(scale=0.3, size=v.shape.as_list()).astype(np.float32))
            for v in tf.trainable_variables()
        ]

    def after_create_session(self, session, coord):
        if session.run(tf.train.get_global_step()) == 0:
            session.run(self._assign)


def main(argv):
    del argv
    train_x, train_y = load_data(120, seed=0)
    test_x, test_y = load_data(30, seed=1)
    my_feature_columns = [tf.feature_column.numeric_column(key=key) for key in sorted(train_x)]
    classifier = tf.estimator.DNNClassifier(
        feature_columns=my_feature_columns,
        hidden_units=[10, 10],
        n_classes=3,
        optimizer=tf.train.AdagradOptimizer(0.1),
        model_dir="iris_model",
    )
    classifier.train(input_fn=lambda: train_input_fn(train_x, train_y, 40), steps=100, hooks=[InitialValues()])
    eval_result = classifier.evaluate(input_fn=lambda: eval_input_fn(test_x, test_y, 30))
    print("Test set accuracy: {accuracy:0.5f}, average loss: {average_loss:0.5f}".format(**eval_result))

    predict_x = {
        "SepalLength": [5.1, 5.9, 6.9],
        "SepalWidth": [3.3, 3.0, 3.1],
        "PetalLength": [1.7, 4.2, 5.4],
        "PetalWidth": [0.5, 1.5, 2.1],
    }
    predictions = classifier.predict(input_fn=lambda: eval_input_fn(predict_x, labels=None, batch_size=3))
    for pred_dict, expec in zip(predictions, SPECIES):
        class_id = pred_dict["class_ids"][0]
        probability = pred_dict["probabilities"][class_id]
        print('Prediction is "{}" ({:.3f}%), expected "{}"'.format(SPECIES[class_id], 100 * probability, expec))
    for name in sorted(classifier.get_variable_names()):
        print(name, classifier.get_variable_value(name).shape)


if __name__ == "__main__":
    tf.logging.set_verbosity(tf.logging.ERROR)
    tf.app.run(main)
