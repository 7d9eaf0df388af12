"""Scopes of default arguments over functions of this library."""

import towerstrat.compat.v1 as tf


def test_variables_of_models_take_defaults():
    framework = tf.contrib.framework
    with tf.Graph().as_default():
        with framework.arg_scope([framework.model_variable, framework.variable], trainable=False):
            fixed = framework.model_variable("fixed", [2])
            own = framework.variable("own", [2], trainable=True)
        assert tf.trainable_variables() == [own]
        assert tf.model_variables() == [fixed]
