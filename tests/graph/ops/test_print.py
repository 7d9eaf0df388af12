"""``tf.print``: the text against the original's, at once and when a program runs."""

import sys

import pytest

from tests.graph.later import cases, module, printed
from towerstrat.graph.eager import mode
from towerstrat.graph.functions.polymorphic import function
from towerstrat.graph.ir import types
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.tensor_conversion import constant
from towerstrat.graph.ops.array.arrays import range as tf_range
from towerstrat.graph.ops.array.arrays import reshape, shape, zeros
from towerstrat.graph.ops.control.while_loop import while_loop
from towerstrat.graph.ops.host.python_calls import print_v2
from towerstrat.graph.runtime.sessions.session import Session
from towerstrat.graph.variables.variable_ops import global_variables_initializer
from towerstrat.graph.variables.variables import Variable

TF = module(
    print=print_v2, constant=constant, zeros=zeros, range=tf_range, reshape=reshape, Variable=Variable,
    **{name: getattr(types, name) for name in ("float16", "bfloat16", "float32", "float64", "int64", "uint8")},
)  # fmt: skip


def run_in_session(*args, **kwargs):
    op = print_v2(*args, **kwargs)
    with Session() as session:
        session.run(global_variables_initializer())
        session.run(op)


@pytest.mark.parametrize(("expression", "original"), cases("print"))
def test_against_the_original(expression, original):
    with mode.eager_mode():
        assert printed(expression, TF) == original


@pytest.mark.parametrize(("expression", "original"), cases("print")[::4])
def test_the_same_text_from_a_session(expression, original):
    assert printed(expression, module(**{**vars(TF), "print": run_in_session})) == original


def test_in_functions_and_loops(tmp_path):
    path = f"file://{tmp_path}/out"

    @function(autograph=False)
    def twice(x):
        print_v2("in", x, [x], output_stream=path)
        print_v2(shape(x), output_stream=path)

        def body(i):
            with get_default_graph().control_dependencies([print_v2(i, output_stream=path)]):
                return i + 1

        return while_loop(lambda i: i < 2, body, [constant(0)])

    with mode.eager_mode():
        assert int(twice(constant([1.0, 2.0]))) == 2
        twice(constant([3.0]))
    assert (tmp_path / "out").read_text() == "in [1 2] [[1 2]]\n[2]\n0\n1\nin [3] [[3]]\n[1]\n0\n1\n"


def test_streams(capsys):
    with mode.eager_mode():
        print_v2("a", output_stream=sys.stdout)
        print_v2("b", constant(1))
    assert capsys.readouterr() == ("a\n", "b 1\n")
    with pytest.raises(ValueError, match="Unsupported output stream 'foo'"):
        print_v2("a", output_stream="foo")
