"""Random programs of towers against numpy, on 1, 2, 3 and 8 towers: single steps, steps in a function, step loops.

Each statement of a program is written twice: for the library, as one tower sees it, and for numpy, where a tower's
value is a row of an array ``[towers, 2]``. The values of variables and outputs after three steps must agree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

import numpy as np

import towerstrat.compat.v1 as tf
from tests.fuzz.difference import Difference, Tolerance, apart, first

STEPS = 3
WIDTH = 2
LIMIT = 16.0
"""Values are kept below it, so that sums in any order agree to a few units in the last place."""
TOLERANCE = Tolerance(each=8, largest=64)
AGGREGATIONS = ("SUM", "MEAN", "ONLY_FIRST_TOWER")
MODEL = {
    "SUM": lambda rows: rows.sum(0),
    "MEAN": lambda rows: rows.mean(0),
    "ONLY_FIRST_TOWER": lambda rows: rows[0],
}
HEADER = """import numpy as np
import towerstrat.compat.v1 as tf

lib, A = tf.contrib.distribute, tf.VariableAggregation
"""


class Program:
    """A step of towers as source text, for the library and for numpy.

    Attributes:
      towers: how many.
      aggregations: variable -> its aggregation; "m0", "m1" are mirrored, "l0", "l1" tower-local.
      library, model: the statements of the tower function, by turns.
      outputs: name -> (a value of the tower function, an aggregation or "NONE").
      updates: (variable, number) of updates in cross-tower context after the towers.
    """

    def __init__(self, random: Random):
        self.random = random
        self.towers = random.choice((1, 2, 3, 8))
        self.aggregations = {name: random.choice(AGGREGATIONS) for name in ("m0", "m1", "l0", "l1")}
        self.values = ["x"]
        self.library: list[str] = []
        self.model: list[str] = []
        for _ in range(random.randint(3, 9)):
            random.choice(STATEMENTS)(self)
        self.outputs = {
            f"out{i}": (random.choice(self.values), random.choice(("NONE", *AGGREGATIONS))) for i in range(2)
        }
        self.updates = [(random.choice(list(self.aggregations)), random.choice((-1.0, 0.5, 2.0)))] * random.randint(
            0, 1
        )

    def value(self) -> str:
        return self.random.choice(self.values)

    def add(self, library: str, model: str) -> None:
        """One more value of the tower function, kept below the limit."""
        name = f"t{len(self.values)}"
        self.library.append(f"{name} = tf.clip_by_value({library}, -{LIMIT}, {LIMIT})")
        self.model.append(f"{name} = np.clip({model}, -{LIMIT}, {LIMIT})")
        self.values.append(name)

    def effect(self, library: str, model: str) -> None:
        self.library.append(f"effects.append({library})")
        self.model.append(model)

    # ---- as text -----------------------------------------------------------------------------------------------

    def tower(self) -> str:
        body = "\n".join(f"    {line}" for line in self.library)
        values = ", ".join(f'"{v}": {v}' for v in self.values)
        head = "def tower(x):\n    context, effects = lib.get_tower_context(), []"
        return f"{head}\n{body}\n    return effects, {{{values}}}\n"

    def numpy(self) -> str:
        body = "\n".join(f"    {line}" for line in self.model)
        values = ", ".join(f'"{v}": {v}' for v in self.values)
        return f"def step(x, ids, state, combine):\n{body}\n    return {{{values}}}\n"

    def text(self) -> str:
        about = f"# {self.towers} towers, {self.aggregations}, outputs {self.outputs}, updates {self.updates}\n"
        return f"{HEADER}{about}{self.tower()}\n{self.numpy()}"


def _binary(program: Program) -> None:
    a, b = program.value(), program.value()
    operator = program.random.choice("+-*")
    program.add(f"{a} {operator} {b}", f"{a} {operator} {b}")


def _constant(program: Program) -> None:
    number = program.random.randint(-3, 3) / 2
    program.add(f"tf.constant([{number}, 1.0], tf.float64)", f"np.zeros_like(x) + [{number}, 1.0]")


def _number(program: Program) -> None:
    a = program.value()
    program.add(f"{a} + tf.cast(context.tower_id, tf.float64)", f"{a} + ids")


def _read(program: Program) -> None:
    name = program.random.choice(list(program.aggregations))
    program.add(f'state["{name}"].read_value() * 1.0', f'np.zeros_like(x) + state["{name}"]')


def _branch(program: Program) -> None:
    a, b = program.value(), program.value()
    program.add(
        f"tf.cond(tf.reduce_sum({a}) > 0.5, lambda: {a} + 1.0, lambda: {b} * 0.5)",
        f"np.where({a}.sum(1, keepdims=True) > 0.5, {a} + 1.0, {b} * 0.5)",
    )


def _loop(program: Program) -> None:
    a, b = program.value(), program.value()
    turns = program.random.randint(0, 3)
    program.add(
        f"tf.while_loop(lambda i, z: i < {turns}, lambda i, z: (i + 1, z * 0.5 + {b}), (0, {a}))[1]",
        "(" * turns + a + f" * 0.5 + {b})" * turns,
    )


def _own_loop(program: Program) -> None:
    a = program.value()
    program.add(
        f"tf.while_loop(lambda i, z: i < context.tower_id % 3, lambda i, z: (i + 1, z + 1.0), (0, {a}))[1]",
        f"{a} + ids % 3",
    )


def _merged(program: Program) -> None:
    a, how = program.value(), program.random.choice(AGGREGATIONS)
    program.add(
        f'context.merge_call(lambda d, z: tf.identity(d.reduce(A.{how}, z, destinations=state["m0"])), {a})',
        f"np.zeros_like(x) + combine['{how}']({a})",
    )


def _gradient(program: Program) -> None:
    a, name = program.value(), program.random.choice(("m0", "m1"))
    program.add(
        f'tf.gradients(tf.reduce_sum(state["{name}"] * state["{name}"] * tf.stop_gradient({a})), state["{name}"])[0]',
        f'2.0 * state["{name}"] * {a}',
    )


def _write(program: Program) -> None:
    """An assignment in tower context: combined over towers, or each tower's own."""
    a, name = program.value(), program.random.choice(list(program.aggregations))
    method, factor = program.random.choice((("assign", 0.0), ("assign_add", 0.25), ("assign_sub", 0.25)))
    value = f"{a} * {factor or 0.5}"
    given = value if name[0] == "l" else f"combine['{program.aggregations[name]}']({value})"
    sign = {"assign": "", "assign_add": f'state["{name}"] + ', "assign_sub": f'state["{name}"] - '}[method]
    program.effect(f'state["{name}"].{method}({value})', f'state["{name}"] = {sign}{given}')


def _update(program: Program) -> None:
    """An update of a variable by ``merge_call``."""
    a, name, how = (
        program.value(),
        program.random.choice(list(program.aggregations)),
        program.random.choice(AGGREGATIONS),
    )
    program.effect(
        f'context.merge_call(lambda d, z: d.update(state["{name}"], lambda v, y: v.assign_sub(y * 0.125), '
        f'd.reduce(A.{how}, z, destinations=state["m0"])), {a})',
        f'state["{name}"] = state["{name}"] - combine[\'{how}\']({a}) * 0.125',
    )


STATEMENTS: tuple[Callable[[Program], None], ...] = (
    _binary, _binary, _constant, _number, _read, _read, _branch, _loop, _own_loop, _merged, _gradient, _write, _write,
    _update,
)  # fmt: skip


# ---- running ---------------------------------------------------------------------------------------------------


def program(seed: int) -> Difference | None:
    """The first difference of the program of a seed from numpy; None where there is none."""
    made = Program(Random(f"towers {seed}"))
    data = np.random.default_rng(seed).integers(-4, 5, (STEPS, made.towers, WIDTH)) / 2
    wanted = _modelled(made, data)
    for way in (_single_steps, _in_function, _step_loop):
        try:
            with tf.Graph().as_default():
                found = way(made, data)
        except Exception as error:
            return Difference(f"{way.__name__} raises {type(error).__name__}: {error}", made.text())
        problems = [f"{way.__name__}: {k}: {apart(found[k], v, TOLERANCE, LIMIT)}" for k, v in wanted.items()]
        problem = first([p for p in problems if not p.endswith(": ")])
        if problem:
            return Difference(problem, made.text())
    return None


def _modelled(made: Program, data: np.ndarray[Any, Any]) -> dict[str, Any]:
    """What numpy says: of each variable the value and the copies, and the outputs of the last step."""
    names: dict[str, Any] = {"np": np}
    exec(made.numpy(), names)
    local = np.zeros((made.towers, WIDTH))
    state = {name: local + 1.0 if name[0] == "l" else np.ones(WIDTH) for name in made.aggregations}
    ids = np.arange(made.towers, dtype=np.float64)[:, None]
    for x in data:
        values = names["step"](x, ids, state, MODEL)
        for name, number in made.updates:
            state[name] = state[name] * number
    found: dict[str, Any] = {}
    for name, how in made.aggregations.items():
        found[name] = MODEL[how](state[name]) if name[0] == "l" else state[name]
        found[f"copies of {name}"] = local + state[name]
    for name, (value, how) in made.outputs.items():
        found[name] = values[value] if how == "NONE" else MODEL[how](values[value])
    return found


def _built(made: Program) -> tuple[Any, dict[str, Any], Callable[[Any], Any]]:
    """The strategy, its variables by name, and the tower function; call it in the strategy's scope."""
    lib = tf.contrib.distribute
    resolver = tf.contrib.cluster_resolver.TPUClusterResolver(tpu="")
    strategy = lib.TPUStrategy(resolver, steps_per_run=STEPS, num_cores=made.towers)
    state: dict[str, Any] = {}
    names = {"tf": tf, "lib": lib, "A": tf.VariableAggregation, "state": state}
    exec(made.tower(), names)
    return strategy, state, names["tower"]


def _variables(made: Program) -> dict[str, Any]:
    modes = {"l": tf.VariableSynchronization.ON_READ, "m": tf.VariableSynchronization.AUTO}
    return {
        name: tf.get_variable(
            name, initializer=np.ones(WIDTH), synchronization=modes[name[0]], aggregation=tf.VariableAggregation[how]
        )
        for name, how in made.aggregations.items()
    }


def _stepped(made: Program, strategy: Any, state: Mapping[str, Any], tower: Any, x: Any) -> tuple[Any, dict[str, Any]]:
    """One step: the operation that runs it, and the values of the tower function."""
    effects, values = strategy.call_for_each_tower(tower, x)
    ran = [part for e in effects for part in strategy.unwrap(e)]
    with tf.control_dependencies(ran):
        for name, number in made.updates:
            parts = strategy.update(state[name], lambda v, n: v.assign(v * n), np.float64(number), grouped=False)
            ran += parts if isinstance(parts, list) else [parts]
    return tf.group(*ran), values


def _after(made: Program, strategy: Any, state: Mapping[str, Any], session: tf.Session) -> dict[str, Any]:
    found = session.run(dict(state))
    found |= {f"copies of {k}": np.stack(session.run(strategy.unwrap(v))) for k, v in state.items()}
    return found


def _stacked(found: Mapping[str, Any], made: Program) -> dict[str, Any]:
    """Outputs with a part on every tower as one array."""
    return {k: np.stack(v) if made.outputs[k][1] == "NONE" else v for k, v in found.items()}


def _single_steps(made: Program, data: np.ndarray[Any, Any]) -> dict[str, Any]:
    """Each step is a run of a session, with its input from an iterator."""
    return _steps(made, data, lambda function: function)


def _in_function(made: Program, data: np.ndarray[Any, Any]) -> dict[str, Any]:
    """Each step is a run of a session of what a function did that was called while the graph was built."""
    return _steps(made, data, tf.contrib.eager.defun)


def _steps(made: Program, data: np.ndarray[Any, Any], wrap: Callable[..., Any]) -> dict[str, Any]:
    strategy, state, tower = _built(made)
    with strategy.scope(), tf.Session() as session:
        state |= _variables(made)
        dataset = tf.data.Dataset.from_tensor_slices(data.reshape(-1, WIDTH))
        x = strategy.distribute_dataset(lambda: dataset).make_one_shot_iterator().get_next()

        def step(x: Any) -> Any:
            ran, values = _stepped(made, strategy, state, tower, x)
            fetches = {}
            for name, (value, how) in made.outputs.items():
                part, host = values[value], "/device:CPU:0"
                if how != "NONE":
                    part = strategy.reduce(tf.VariableAggregation[how], part, destinations=host)
                fetches[name] = strategy.unwrap(part) if how == "NONE" else strategy.unwrap(part)[0]
            with tf.control_dependencies([ran]):
                return fetches, tf.constant(0) + 0

        fetches, ran = wrap(step)(x)
        session.run(tf.global_variables_initializer())
        for _ in range(STEPS):
            outputs, _ = session.run([fetches, ran])
        return _stacked(outputs, made) | _after(made, strategy, state, session)


def _step_loop(made: Program, data: np.ndarray[Any, Any]) -> dict[str, Any]:
    """All steps are one run of a loop."""
    strategy, state, tower = _built(made)
    with strategy.scope(), tf.Session() as session:
        state |= _variables(made)
        dataset = tf.data.Dataset.from_tensor_slices(data.reshape(-1, WIDTH))
        iterator = strategy.distribute_dataset(lambda: dataset).make_one_shot_iterator()

        def step(context: Any, x: Any) -> Any:
            ran, values = _stepped(made, strategy, state, tower, x)
            for name, (value, how) in made.outputs.items():
                context.set_last_step_output(name, values[value], tf.VariableAggregation[how])
            return ran

        context = strategy.run_steps_on_dataset(step, iterator, STEPS)
        session.run(tf.global_variables_initializer())
        fetches = {k: strategy.unwrap(v) for k, v in context.last_step_outputs.items()}
        fetches = {k: v if made.outputs[k][1] == "NONE" else v[0] for k, v in fetches.items()}
        outputs, _ = session.run([fetches, context.run_op])
        return _stacked(outputs, made) | _after(made, strategy, state, session)
