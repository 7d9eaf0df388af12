"""``variable_scope`` as an object that a program keeps: it is left when its block ends, and may be entered again."""

import towerstrat.compat.v1 as tf


def test_a_scope_that_is_kept_is_left_at_the_end_of_its_block():
    kept = tf.variable_scope("kept")
    with kept:
        inside = tf.get_variable("v", [])
        assert tf.constant(1.0).op.name == "kept/Const"
    assert tf.get_variable("v", []).op.name == "v"
    assert tf.constant(1.0).op.name == "Const"
    with kept:
        tf.get_variable_scope().reuse_variables()
        assert tf.get_variable("v", []) is inside
    assert tf.get_variable_scope().name == ""
    assert not tf.get_variable_scope().reuse


def test_a_scope_is_left_where_its_block_raises():
    kept = tf.variable_scope("kept")
    try:
        with kept:
            raise KeyError("mine")
    except KeyError:
        assert tf.get_variable_scope().name == ""
