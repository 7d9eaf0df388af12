"""Templates where operations are executed eagerly, in functions and on towers; in graphs see the scopes' goldens."""

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from towerstrat.compat.v1_functions import contrib_eager
from towerstrat.graph.eager import mode
from towerstrat.graph.functions.polymorphic import function
from towerstrat.graph.ir.graph import Graph
from towerstrat.graph.scopes.template import EagerTemplate, make_template


def names(variables):
    return [v.name for v in variables]


def scaled(x, by=1.0):
    return by * x * tf.get_variable("w", [], initializer=tf.constant_initializer(2.0))


@pytest.mark.parametrize("now", [False, True])
def test_eager_templates_share_their_variables_and_nothing_else(now):
    with mode.eager_mode():
        one, two = (make_template("net", scaled, create_scope_now_=now, by=by) for by in (1.0, 3.0))
        assert one.variables == []
        assert [float(one(2.0)), float(one(5.0)), float(two(1.0))] == [4.0, 10.0, 6.0]
        one.variables[0].assign(7.0)
        assert [float(one(2.0)), float(two(1.0))] == [14.0, 6.0]
        assert [names(one.variables), names(two.variables)] == [["net/w:0"], ["net_1/w:0"]]
        assert [one.variable_scope_name, two.variable_scope_name] == ["net/", "net_1/"]
        assert one.trainable_variables == one.global_variables == one.weights
        assert one.non_trainable_variables == one.local_variables == []


def test_nested_eager_templates_share_a_store_and_keep_apart():
    def inner(x):
        return x + tf.get_variable("v", [], initializer=tf.zeros_initializer(), trainable=False)

    def outer(x):
        return make_template("inner", inner)(tf.layers.dense(x, 1, name="fc"))

    with mode.eager_mode():
        made = make_template("outer", outer)
        first = made(tf.ones([2, 3]))
        np.testing.assert_array_equal(first, made(tf.ones([2, 3])))
        assert names(made.trainable_variables) == ["outer/fc/bias:0", "outer/fc/kernel:0"]
        assert names(made.non_trainable_variables) == ["outer/inner/v:0"]


@pytest.mark.parametrize("wrap", [function, contrib_eager.defun])
def test_templates_in_functions_and_functions_in_templates(wrap):
    with mode.eager_mode():
        made = make_template("net", scaled)
        assert float(made(2.0)) == 4.0
        assert float(wrap(made)(tf.constant(3.0))) == 6.0
        made = make_template("net", wrap(scaled))
        assert [float(made(tf.constant(x))) for x in (2.0, 3.0)] == [4.0, 6.0]
        assert names(made.variables) == ["net_1/w:0"]


def test_a_template_of_a_graph_function_has_its_effects_in_order():
    def counted():
        v = tf.get_variable("v", [], initializer=tf.zeros_initializer())
        v.assign_add(1.0)
        v.assign(v * 2.0)
        return v.read_value()

    with mode.eager_mode():
        made = contrib_eager.make_template("net", counted, create_graph_function_=True)
        assert [float(made()), float(made())] == [2.0, 6.0]


def test_what_is_refused_names_the_template_and_its_line():
    with pytest.raises(RuntimeError, match="eager execution"):
        EagerTemplate("net", scaled)
    with mode.eager_mode():
        with pytest.raises(ValueError, match="unique_name_"):
            make_template("net", scaled, unique_name_="mine")
        names_of_variables = iter("abc")
        made = make_template("net", lambda: tf.get_variable(next(names_of_variables), []))
        made()
        with pytest.raises(ValueError, match="after the first time") as caught:
            made()
        assert "in template 'net', made at " in caught.value.__notes__[0]
        assert "test_template.py" in caught.value.__notes__[0]


@pytest.mark.parametrize("towers", [1, 3])
def test_a_template_on_towers_has_one_set_of_variables(towers):
    with Graph().as_default(), tf.Session() as session:
        resolver = tf.contrib.cluster_resolver.TPUClusterResolver(tpu="")
        strategy = tf.contrib.distribute.TPUStrategy(resolver, steps_per_run=1, num_cores=towers)
        with strategy.scope():
            made = make_template("net", scaled)

            def tower(x):
                return made(x) + made(2.0 * x)

            y = strategy.unwrap(strategy.call_for_each_tower(tower, tf.constant(2.0)))
            session.run(tf.global_variables_initializer())
            assert session.run(y) == [12.0] * towers
            assert names(tf.trainable_variables()) == ["net/w:0"]
