"""Random programs on integers do, converted, what Python does."""

import linecache
from itertools import count

import numpy as np
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st

from tests.graph.autograph.common import tf
from towerstrat.errors import UnsupportedError
from towerstrat.graph.autograph import api
from towerstrat.graph.ir.graph import Graph

ARGUMENTS = [(0, 1, 2), (5, 3, 1), (7, -4, 6)]
_numbers = count()

values = st.sampled_from(["a", "b", "c", "1", "2", "3"])
sums = st.builds("({} {} {}) % 11 - 3".format, values, st.sampled_from("+-*"), values)
names = st.sampled_from("abc")
comparisons = st.builds("{} {} {}".format, names, st.sampled_from(["<", ">", "<=", ">="]), values)
conditions = st.one_of(
    comparisons,
    st.builds("not {}".format, comparisons),
    st.builds("{} and {}".format, comparisons, comparisons),
    st.builds("{} or {}".format, comparisons, comparisons),
    st.builds("{} < {} < {}".format, values, names, values),
)


@st.composite
def statements(draw, depth, loop=None, returns=True):
    """Lines of a block; ``loop`` is the kind of loop around it. Python loops have no break or return."""
    lines = []
    for _ in range(draw(st.integers(1, 3))):
        kinds = ["assign", "swap", "choose"]
        if depth:
            kinds += ["if", "for", "while", "python for"]
        if loop is not None:
            kinds += ["continue"]
        if loop == "staged":
            kinds += ["break"]
        if returns:
            kinds += ["return"]
        lines += draw(_statement(draw(st.sampled_from(kinds)), depth, loop, returns))
    return lines


@st.composite
def _statement(draw, kind, depth, loop, returns):
    if kind == "assign":
        return [f"{draw(names)} = {draw(sums)}"]
    if kind == "swap":
        return ["a, b = b, a"]
    if kind == "choose":
        return [f"{draw(names)} = {draw(values)} if {draw(conditions)} else {draw(names)}"]
    if kind in ("break", "continue", "return"):
        return [f"if {draw(conditions)}:", f"    {'return a, b, c' if kind == 'return' else kind}"]
    if kind == "if":
        lines = [f"if {draw(conditions)}:", *draw(_inside(depth, loop, returns))]
        if draw(st.booleans()):
            lines += [f"elif {draw(conditions)}:", *draw(_inside(depth, loop, returns))]
        if draw(st.booleans()):
            lines += ["else:", *draw(_inside(depth, loop, returns))]
        return lines
    target = f"i{depth}"
    if kind == "while":
        body = draw(_inside(depth, "staged", returns))
        return [f"{target} = 0", f"while {target} < {draw(names)}:", f"    {target} = {target} + 1", *body]
    if kind == "for":
        body = draw(_inside(depth, "staged", returns))
        return [f"for {target} in numbers({draw(values)} + a * 0):", *body, f"    {draw(names)} = {target}"]
    return [f"for {target} in range(2):", *draw(_inside(depth, "python", False))]


@st.composite
def _inside(draw, depth, loop, returns):
    return [f"    {line}" for line in draw(statements(depth - 1, loop, returns))]


def defined(lines, numbers):
    """The program over what ``numbers`` makes of a limit, with source that can be found."""
    text = "\n".join(["def program(a, b, c):", *(f"    {line}" for line in lines), "    return a, b, c", ""])
    filename = f"<program {next(_numbers)}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    made = {"numbers": numbers}
    exec(compile(text, filename, "exec"), made)
    return made["program"]


@settings(phases=[Phase.generate, Phase.reuse])
@given(statements(2))
def test_programs_do_what_python_does(lines):
    python = defined(lines, range)
    with Graph().as_default(), tf.Session() as session:
        feeds = [tf.placeholder(np.int32, []) for _ in range(3)]
        try:
            result = api.converted(defined(lines, tf.range))(*feeds)
        except UnsupportedError as error:
            # As in the original: Python loops on, and the value that decides came to be a tensor.
            assume("was a Python value first" not in str(error))
            raise
        result = [tf.convert_to_tensor(r) for r in result]
        for arguments in ARGUMENTS:
            found = session.run(result, dict(zip(feeds, arguments, strict=True)))
            assert [int(v) for v in found] == list(python(*arguments))
