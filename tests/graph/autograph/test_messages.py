"""Errors name the variable and the user's line; so do tracebacks and operations."""

import inspect
import sys
import traceback

import pytest

from tests.graph.autograph.common import run, tf
from towerstrat import errors
from towerstrat.graph.autograph import api
from towerstrat.graph.ir import user_lines
from towerstrat.graph.ir.graph import Graph

HERE = __file__


def line_of(text):
    lines = inspect.getsource(sys.modules[__name__]).splitlines()
    return next(i for i, line in enumerate(lines, 1) if line.strip().endswith("# " + text))


def refused(kind, program, *args):
    with pytest.raises(kind) as caught:
        run(program, *args)
    return str(caught.value)


def test_a_variable_without_a_value():
    def program(x):
        if x > 0:  # undefined
            y = 1
        return y

    message = refused(ValueError, program, 1)
    assert "'y' must also be initialized in the else branch" in message
    assert f"{HERE}:{line_of('undefined')} in program: if x > 0:" in message


def test_a_missing_return():
    def program(x):  # noqa: RET503
        if x > 0:
            return x

    assert "the else branch must also have a return statement" in refused(ValueError, program, 1)

    def late(n):  # noqa: RET503
        for i in tf.range(n):
            if i > 2:
                return i

    assert "late returns a value on some paths only" in refused(ValueError, late, 1)


def test_types_and_shapes_in_loops():
    def grows(n):
        y = tf.zeros([1])
        for _ in tf.range(n):  # grows
            y = tf.concat([y, y], 0)  # longer
        return y

    message = refused(ValueError, grows, 1)
    assert "'y' has shape (1,) before the for loop" in message
    assert "but shape (2,) after one iteration" in message
    assert f"{HERE}:{line_of('grows')} in grows" in message
    assert f"created at {HERE}:{line_of('longer')} in grows" in message
    assert "set_loop_options" in message

    def changes(x):
        y = {"a": 0}
        while x > 0:
            y = {"a": tf.cast(y["a"], tf.float32)}
            x -= 1
        return y

    assert "'y' has dtype int32 before the while loop" in refused(TypeError, changes, 1)

    def loses(x):
        y = {"a": 0}
        while x > 0:
            y = [1]
            x -= 1
        return y

    assert "'y' does not have the same nested structure" in refused(TypeError, loses, 1)


def test_shape_invariants_that_do_not_hold():
    def program(n):
        y = tf.zeros([1, 2])
        for _ in tf.range(n):
            tf.autograph.experimental.set_loop_options(shape_invariants=[(y, tf.TensorShape([None, 2]))])
            y = tf.zeros([1, 3])
        return y

    message = refused(ValueError, program, 1)
    assert "'y' has shape (1, 3) after one iteration" in message
    assert "does not conform with the shape invariant (?, 2)" in message


def test_text_and_objects_do_not_change():
    def text(x):
        mode = "a"
        if x > 0:
            mode = "b"
        return mode

    assert "'mode' is 'b' in the main branch, but 'a' in the else branch" in refused(TypeError, text, 1)

    def objects(n):
        thing = object()
        for _ in tf.range(n):
            thing = object()
        return thing

    assert "'thing' is <object" in refused(TypeError, objects, 1)

    def kept(n):
        mode = "a"
        shape = tf.TensorShape([2])
        count = 0
        for _ in tf.range(n):
            mode = "a"
            shape = tf.TensorShape([2])
            count += 1
        return mode, count, str(shape)

    assert run(kept, 3) == ("a", 3, "(2,)")


def test_a_list_that_grows_in_a_loop():
    def program(n):
        found = []
        for i in tf.range(n):  # listed
            found.append(i * 2)  # appended
        return found

    message = refused(ValueError, program, 1)
    assert "'found' is a Python list" in message
    assert "tf.TensorArray" in message
    assert f"created at {HERE}:{line_of('appended')} in program" in message

    def branch(x):
        found = [x]
        if x > 0:
            found.append(x + 1)
        return found

    assert "'found' is a Python list" in refused(ValueError, branch, 1)

    def notes(n):
        names = []
        for _ in tf.range(n):
            names.append("traced")
        return names

    assert run(notes, 3) == ["traced"]


def test_break_of_a_python_loop():
    def program(n):
        for i in range(5):  # python loop
            if i > n:
                break
        return n

    message = refused(NotImplementedError, program, 1)
    assert "A break or return in this Python loop depends on a tensor" in message
    assert f"{HERE}:{line_of('python loop')}" in message


def test_an_assertion_fails_in_the_run():
    def program(x):
        assert x > 0, f"x is {1 + 1} too small"  # asserted
        return x

    assert run(program, 1) == 1
    message = refused(errors.InvalidArgumentError, program, -1)
    assert "x is 2 too small" in message
    assert f"{HERE}:{line_of('asserted')} in program" in message
    with pytest.raises(AssertionError, match="3 is wrong"):
        run(lambda x: checked_in_python(x), 1)


def checked_in_python(x):
    assert 1 > 2, f"{1 + 2} is wrong"
    return x


def test_the_traceback_shows_the_users_lines():
    def helper(x):
        if x > 0:
            for _ in tf.range(3):
                raise KeyError("here")  # raised
        return x

    def program(x):
        y = helper(x)  # called
        return y + 1

    with pytest.raises(KeyError) as caught:
        run(program, 1)
    frames = [
        (f.name, f.lineno, f.line) for f in traceback.extract_tb(caught.value.__traceback__) if f.filename == HERE
    ]
    assert ("program", line_of("called"), "y = helper(x)  # called") in frames
    assert frames[-1] == ("helper", line_of("raised"), 'raise KeyError("here")  # raised')


def test_operations_know_the_users_line():
    def program(x):
        y = x
        for i in tf.range(3):  # for
            if i > 1:  # if
                y = y * 2  # made
        return y

    with Graph().as_default() as graph:
        api.converted(program)(tf.placeholder(tf.int32, []))
    lines = {op.type: op.line for op in graph.get_operations()}
    assert lines["Mul"] == user_lines.UserLine(HERE, line_of("made"), "program")
    assert lines["If"] == user_lines.UserLine(HERE, line_of("if"), "program")
    assert lines["While"] == user_lines.UserLine(HERE, line_of("for"), "program")
    assert all(op.line.filename == HERE for op in graph.get_operations())


# ---- code that was not converted ---------------------------------------------------------------------------------


def why(function, *args):
    """The error where a tensor is asked for its truth value inside of ``function``."""
    with Graph().as_default(), pytest.raises(TypeError) as caught:
        api.converted(lambda x: function(x, *args))(tf.placeholder(tf.bool, []))
    return str(caught.value).rpartition("\n  ")[2]


def test_why_code_was_not_converted():
    def generator(x):  # generator
        yield 1 if x else 2

    said = f"generator ({HERE}:{line_of('generator')}) was not converted by autograph: it is a generator."
    assert why(lambda x: next(generator(x))) == said

    def matched(x):  # matched
        match 1 if x else 2:
            case 1:
                return 3

    said = f"matched ({HERE}:{line_of('matched')}) was not converted by autograph: it holds a match statement"
    assert why(matched) == f"{said} (line {line_of('matched') + 1})."

    names = {}
    exec("def made(x):\n  return 1 if x else 2", names)
    assert why(names["made"]) == (
        "made (<string>:1) was not converted by autograph: its source is not available (<string>)."
    )

    def left(x):
        return 1 if x else 2

    assert why(api.do_not_convert(left)).endswith("it is below tf.autograph.experimental.do_not_convert.")

    class Made:
        def __init__(self, x):
            self.y = 1 if x else 2

    assert why(Made).endswith("it is a constructor.")
    assert why(lambda x: list(map(left, [x]))).endswith("it was called by code that is not converted.")
    assert "is converted, but not at this place" in why(lambda x: [i for i in range(2) if x])

    def defines(x):
        class Inner:
            pass

        return Inner if x else 2

    assert "it defines a class" in why(defines)

    def assigns(x):
        return 1 if (y := x) else y

    assert "it holds an assignment expression" in why(assigns)


def test_iteration_and_length_say_it_too():
    def rows(x):
        yield from x

    with Graph().as_default(), pytest.raises(TypeError, match="rows .* was not converted by autograph: it is a gene"):
        api.converted(lambda x: list(rows(x)))(tf.placeholder(tf.int32, [3]))


def test_nothing_is_said_where_nothing_is_converted():
    assert user_lines.unconverted() == ""
