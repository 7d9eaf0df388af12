"""Computations that only read variables."""

import pytest

import towerstrat.compat.v1 as tf
from towerstrat.towers.shards import inference_rewrite
from towerstrat.towers.shards.shard_scope import under_tpu_inference_context


def test_variables_are_values_that_were_read_before():
    seen = []

    def computation(x):
        seen.append(under_tpu_inference_context())
        w = tf.get_variable("w", initializer=3.0)
        assert isinstance(w, tf.Tensor)
        return w * x + tf.layers.dense(tf.ones([1, 1]), 1, kernel_initializer=tf.ones_initializer(), name="dense")[0, 0]

    with pytest.raises(RuntimeError, match="No GuaranteeConst ops found"):
        inference_rewrite.validate_inference_rewrite_for_variables(tf.get_default_graph())
    (output,) = inference_rewrite.rewrite_for_inference(computation, [2.0])
    inference_rewrite.validate_inference_rewrite_for_variables(tf.get_default_graph())
    assert [v.op.name for v in tf.global_variables()] == ["w", "dense/kernel", "dense/bias"]
    assert seen == [True]
    assert not under_tpu_inference_context()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(output) == 7.0


def test_what_cannot_be():
    v = tf.get_variable("v", initializer=1.0)
    with pytest.raises(NotImplementedError, match="AssignAddVariableOp of variable v:0 in a computation for inference"):
        inference_rewrite.rewrite_for_inference(lambda: v.assign_add(1.0))
    with pytest.raises(TypeError, match="needs exactly 1 argument"):
        inference_rewrite.rewrite_for_inference(lambda x: x)
