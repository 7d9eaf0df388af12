"""Exports for serving: SavedModelBuilder with signatures and simple_save, and loads both."""

from __future__ import absolute_import, division, print_function

import os

import numpy as np
import tensorflow as tf

tf.app.flags.DEFINE_integer("training_iteration", 40, "number of training iterations.")
tf.app.flags.DEFINE_integer("model_version", 1, "version number of the model.")
tf.app.flags.DEFINE_string("export_path_base", "export", "Working directory.")
FLAGS = tf.app.flags.FLAGS


def make_data(count, seed):
    random = np.random.RandomState(seed)
    labels = random.randint(3, size=count)
    x = np.eye(3)[labels].repeat(4, axis=1) + random.normal(scale=0.4, size=(count, 12))
    return x.astype(np.float32), np.eye(3, dtype=np.float32)[labels]


def build():
    x = tf.placeholder(tf.float32, shape=[None, 12], name="x")
    y_ = tf.placeholder(tf.float32, shape=[None, 3], name="y_")
    w = tf.Variable(tf.zeros([12, 3]), name="w")
    b = tf.Variable(tf.zeros([3]), name="b")
    y = tf.nn.softmax(tf.matmul(x, w) + b, name="y")
    cross_entropy = -tf.reduce_mean(tf.reduce_sum(y_ * tf.log(y), axis=1))
    train_step = tf.train.GradientDescentOptimizer(0.5).minimize(cross_entropy)
    return x, y_, y, cross_entropy, train_step


def export(sess, x, y):
    export_path = os.path.join(FLAGS.export_path_base, str(FLAGS.model_version))
    print("Exporting trained model to", export_path)
    builder = tf.saved_model.builder.SavedModelBuilder(export_path)
    values, indices = tf.nn.top_k(y, 2)
    tensor_info_x = tf.saved_model.utils.build_tensor_info(x)
    prediction_signature = tf.saved_model.signature_def_utils.build_signature_def(
        inputs={"images": tensor_info_x},
        outputs={"scores": tf.saved_model.utils.build_tensor_info(y)},
        method_name=tf.saved_model.signature_constants.PREDICT_METHOD_NAME,
    )
    top_signature = tf.saved_model.signature_def_utils.build_signature_def(
        inputs={"images": tensor_info_x},
        outputs={
            "values": tf.saved_model.utils.build_tensor_info(values),
            "indices": tf.saved_model.utils.build_tensor_info(indices),
        },
        method_name=tf.saved_model.signature_constants.PREDICT_METHOD_NAME,
    )
    builder.add_meta_graph_and_variables(
        sess,
        [tf.saved_model.tag_constants.SERVING],
        signature_def_map={
            "predict_images": prediction_signature,
            tf.saved_model.signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY: top_signature,
        },
        main_op=tf.tables_initializer(),
        strip_default_attrs=True,
    )
    builder.save()
    tf.saved_model.simple_save(sess, os.path.join(FLAGS.export_path_base, "simple"), inputs={"x": x}, outputs={"y": y})
    return export_path


def serve(export_path, key, images):
    """Runs one signature of an exported model."""
    with tf.Session(graph=tf.Graph()) as sess:
        meta_graph = tf.saved_model.loader.load(sess, [tf.saved_model.tag_constants.SERVING], export_path)
        signature = meta_graph.signature_def[key]
        (given,) = signature.inputs.values()
        outputs = {name: info.name for name, info in signature.outputs.items()}
        return sess.run(outputs, {given.name: images})


def main(_):
    train, test = make_data(150, seed=0), make_data(4, seed=1)
    x, y_, y, cross_entropy, train_step = build()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(FLAGS.training_iteration):
            _, loss = sess.run([train_step, cross_entropy], {x: train[0], y_: train[1]})
        print("training loss %.5f" % loss)
        wanted = sess.run(y, {x: test[0]})
        print("before:", np.round(wanted.max(axis=1), 5).tolist())
        export_path = export(sess, x, y)

    print("is a saved model:", tf.saved_model.loader.maybe_saved_model_directory(export_path))
    scores = serve(export_path, "predict_images", test[0])["scores"]
    print("loaded scores:", np.round(scores.max(axis=1), 5).tolist(), np.allclose(scores, wanted))
    top = serve(export_path, "serving_default", test[0])
    print("top:", np.round(top["values"][:, 0], 5).tolist(), top["indices"][:, 0].tolist())
    simple = serve(os.path.join(FLAGS.export_path_base, "simple"), "serving_default", test[0])
    print("simple:", np.round(simple["y"].max(axis=1), 5).tolist())


if __name__ == "__main__":
    tf.logging.set_verbosity(tf.logging.ERROR)
    tf.app.run()
