"""``tf.config.run_functions_eagerly``."""

from towerstrat.graph.eager import mode
from towerstrat.graph.functions.eagerly import functions_run_eagerly, run_functions_eagerly
from towerstrat.graph.functions.polymorphic import function


def test_functions_are_called_as_they_are_written():
    calls = []
    double = function(lambda x: calls.append(x) or x * 2)
    with mode.eager_mode():
        assert [int(double(3)), int(double(3))] == [6, 6]
        assert len(calls) == 1
        run_functions_eagerly(True)
        try:
            assert functions_run_eagerly()
            assert [double(3), double(3)] == [6, 6]
            assert len(calls) == 3
        finally:
            run_functions_eagerly(False)
        assert not functions_run_eagerly()
