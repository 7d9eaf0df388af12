# ruff: noqa: B905, UP031 (a function is called where it is made; zip has no strict in Python 3.6)
"""Random tower functions for MirroredStrategy, whose Python differs by tower, and what comes of them as plain facts.

``written(seed)`` is the text of a program and what it has: a function ``program(tf, d, log)`` that calls a tower
function under the strategy ``d``. The text uses names of TensorFlow 1.12 only; Python 3.6 makes the same texts as
Python 3.11. ``facts(tf, seed, n)`` runs one.

Variables are read once, before what is assigned to them, and what is assigned depends on what all towers read: results
do not depend on the order in which a session runs operations.
"""

import collections
import random

import numpy as np

Pair = collections.namedtuple("Pair", ["first", "second"])
AGGREGATIONS = ["SUM", "MEAN", "ONLY_FIRST_TOWER"]
SHAPES = ["[]", "[2]", "[2, 3]"]
UNARY = ["tf.tanh({a})", "tf.sin({a})", "tf.abs({a})", "-{a}", "tf.square({a})", "tf.nn.relu({a} + 0.1)", "{a} * 0.5"]
BINARY = ["{a} + {b}", "{a} * {b}", "tf.maximum({a}, {b} + 0.01)", "{a} - 0.5 * {b}", "tf.add({a}, {b}, name='sum')"]


class Source:
    """The text of one program while it is written."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines, self.indent, self.merges = [], 2, []
        self.values = []  # (name, shape) of the tensors that every tower has, floats
        self.own = []  # those of them that each tower made: what it may differentiate by
        self.used, self.reads, self.variables, self.counted = 0, [], [], 0
        self.features = set()

    def below(self, bound):
        return int(self.random.random() * bound)

    def pick(self, things):
        return things[self.below(len(things))]

    def chance(self, probability):
        return self.random.random() < probability

    def number(self):
        return repr(round(self.random.random() * 2 - 1, 2) or 0.25)

    def numbers(self):
        return "[" + ", ".join(self.number() for _ in range(4)) + "]"

    def fresh(self, prefix="a"):
        self.used += 1
        return prefix + str(self.used)

    def add(self, line):
        self.lines.append("    " * self.indent + line)

    def value(self, shape=None):
        known = [v for v in self.values if shape is None or v[1] == shape]
        return self.pick(known[-4:] if self.chance(0.7) else known)

    def made(self, name, shape, own=True):
        self.values.append((name, shape))
        if own:
            self.own.append(name)

    def log(self, text):
        self.add(f"log.append('{text} %d' % k)")


def plain(s):
    a, shape = s.value()
    same = [v for v, of in s.values if of == shape]
    new = s.fresh()
    form = s.pick(UNARY) if s.chance(0.4) else s.pick(BINARY)
    s.add(f"{new} = {form.format(a=a, b=s.pick(same))}")
    s.made(new, shape)


def listed(s):
    """An element of a list that the tower's number chooses."""
    s.features.add("list")
    (a, shape), new = s.value(), s.fresh()
    s.add("{} = {} {} {}[k]".format(new, a, s.pick(["+", "*"]), s.numbers()))
    s.made(new, shape)


def arithmetic(s):
    s.features.add("arithmetic")
    (a, shape), new = s.value(), s.fresh()
    s.add(
        new
        + " = "
        + s.pick(["{a} + (k + 1)", "{a} * (0.5 * k)", "{a} - float(k) / n", "{a} + tf.constant(k * 0.25)"]).format(a=a)
    )
    s.made(new, shape)


def branch(s):
    """Towers that do other operations, or more of them."""
    s.features.add("if")
    (a, shape), new = s.value(), s.fresh()
    s.add(f"{new} = {a}")
    s.add("if {}:".format(s.pick(["k == 0", "k == 1", "k % 2", "k < n - 1", "k in (1, 2)"])))
    s.indent += 1
    for _ in range(1 + s.below(2)):
        s.add(f"{new} = {s.pick(UNARY).format(a=new)}")
    if s.chance(0.5):
        s.log("inside")
    s.indent -= 1
    if s.chance(0.6):
        s.add("else:")
        s.indent += 1
        s.add(f"{new} = {s.pick(BINARY).format(a=new, b=s.value(shape)[0])}")
        s.indent -= 1
    s.made(new, shape, own=False)


def table(s):
    """A dict that has what each tower does."""
    s.features.add("dict")
    (a, shape), new = s.value(), s.fresh()
    functions = [s.pick(["tf.tanh", "tf.sin", "tf.abs", "tf.square", "tf.identity"]) for _ in range(2)]
    if s.chance(0.5):
        functions = functions[:1] * 2
    s.add(f"{new} = {{0: {functions[0]}, 1: {functions[1]}}}[k % 2]({a})")
    s.made(new, shape)


def counter(s):
    """Python side effects: the count goes on from tower to tower."""
    s.features.add("counter")
    (a, shape), new = s.value(), s.fresh()
    s.counted += 1
    s.add("count['c'] = count.get('c', 0) + 1")
    s.add(f"{new} = {a} + 0.125 * count['c']")
    s.log("counted")
    s.made(new, shape)


def shaped(s):
    """A tensor whose shape differs by tower."""
    s.features.add("shape")
    (a, _), new = s.value("[]"), s.fresh()
    s.add(f"{new} = tf.reduce_sum(tf.fill([k + 1], {a}) * 0.5)")
    s.made(new, "[]")


def conditional(s):
    s.features.add("cond")
    (a, shape), new = s.value(), s.fresh()
    by = s.pick(["k", "0.5"])
    s.add(
        f"{new} = tf.cond(tf.reduce_sum({a}) > {s.number()}37, lambda: {a} * 2.0, lambda: {s.value(shape)[0]} - {by})"
    )
    s.made(new, shape, own=False)


def loop(s):
    s.features.add("while")
    (a, shape), new = s.value(), s.fresh()
    b = s.value(shape)[0]
    times = s.pick(["2", "2", "1 + k"])
    body = f"lambda i, x: [i + 1, x * 0.5 + {b}]"
    s.add(f"{new} = tf.while_loop(lambda i, x: i < {times}, {body}, [tf.constant(0), {a}])[1]")
    s.made(new, shape, own=False)


def variable(s):
    s.features.add("variable")
    shape, name, read = s.pick(SHAPES), s.fresh("v"), s.fresh()
    how = s.pick(AGGREGATIONS)
    s.variables.append((name, shape, how))
    scoped = s.chance(0.4)
    if scoped:
        s.add("with tf.variable_scope('{}'):".format(s.pick(["one", "two"])))
        s.indent += 1
    s.add(
        f"{name} = tf.get_variable('{name}', {shape}, initializer=tf.constant_initializer({s.number()}), "
        f"aggregation=tf.VariableAggregation.{how})"
    )
    s.indent -= scoped
    s.add(f"{read} = tf.identity({name}) * 1.5")
    s.reads.append((name, read))
    s.made(read, shape)


def assigned(s):
    """An assignment of what all towers computed, which depends on what all of them read."""
    if not s.variables:
        return variable(s)
    s.features.add("assign")
    name, shape, how = s.variables.pop(s.below(len(s.variables)))
    read = dict(s.reads)[name]
    if how == "ONLY_FIRST_TOWER":
        all_read = s.fresh()
        mean = "lambda d, x: d.reduce(tf.VariableAggregation.MEAN, x, d.worker_devices)"
        s.add(f"{all_read} = ctx.merge_call({mean}, {read})")
        read = all_read
    (a, _), new = s.value(shape), s.fresh()
    s.add("{} = {}.{}({} * 0.25 + {} * 0.125)".format(new, name, s.pick(["assign_add", "assign_sub"]), a, read))
    s.add(f"{new} = tf.identity({new})")
    s.made(new, shape, own=False)
    return None


def local(s):
    """A variable of each tower's own."""
    s.features.add("local")
    (a, shape), name, new = s.value(), s.fresh("l"), s.fresh()
    s.add(
        "{v} = tf.get_variable('{v}', {shape}, initializer=tf.zeros_initializer(), trainable=False, synchronization="
        "tf.VariableSynchronization.ON_READ, aggregation=tf.VariableAggregation.{how})".format(
            v=name, shape=shape, how=s.pick(["SUM", "MEAN"])
        )
    )
    s.add(f"{new} = tf.identity({name}.assign_add({a}))")
    s.made(new, shape, own=False)


def dense(s):
    s.features.add("layer")
    (a, _), new = s.value("[2, 3]"), s.fresh()
    name = s.pick(["", "", ", name='{}'".format(s.fresh("fc"))])
    s.add(f"{new} = tf.layers.dense({a}, 3, kernel_initializer=tf.constant_initializer(0.25){name})")
    s.made(new, "[2, 3]")


def gradient(s):
    """Of what a tower made, by what it made itself."""
    if not s.own:
        return plain(s)
    s.features.add("gradient")
    by = s.pick(s.own)
    shape = dict(s.values)[by]
    (a, _), new = s.value(), s.fresh()
    s.add(f"{new} = tf.gradients(tf.reduce_sum({a} * 0.5) + tf.reduce_sum(tf.square({by})), [{by}])[0]")
    s.made(new, shape, own=False)
    return None


def scoped(s):
    s.features.add("name scope")
    s.add("with tf.name_scope('{}'):".format(s.pick(["part", "other"])))
    s.indent += 1
    for _ in range(1 + s.below(2)):
        s.pick([plain, listed, arithmetic, merged])(s)
    s.indent -= 1


def merged(s, nested=True):
    """A call across towers: what it makes of one or two values."""
    s.features.add("merge")
    (a, shape), new, name = s.value(), s.fresh(), s.fresh("merge")
    how = s.pick(["SUM", "MEAN"])
    to = s.pick(["d.worker_devices", "d.worker_devices", "d.worker_devices[0]", "'/device:CPU:1'"])
    body = [f"log.append('{name} %s' % type(x).__name__)"]
    reduced = f"d.reduce(tf.VariableAggregation.{how}, x, destinations={to})"
    if to != "d.worker_devices":
        reduced = f"d.unwrap({reduced})[0]"
    if s.chance(0.95):
        own = s.fresh()  # what is equal in all towers cannot be reduced
        s.add(f"{own} = {a} * 1.0")
        a = own
    kind, call = s.below(8), f"ctx.merge_call({name}, {a})"
    if kind <= 1:
        body.append("return " + reduced)
    elif kind == 2:
        body.append(f"return sum(d.unwrap(x)) * {s.number()}")
    elif kind == 3:
        body.append(f"return {{'r': {reduced}, 'k': {s.below(9)}}}")
        call += "['r']"
    elif kind == 4:
        (b, _) = s.value(shape)
        call = f"ctx.merge_call({name}, {a}, y={b})"
        body.append(f"return sum(d.unwrap(x)) - {s.number()} * sum(d.unwrap(y))")
    elif kind == 5:
        body.append(f"return [x, {reduced}]")
        call += f"[{s.below(2)}]"
    elif kind == 6 and nested:
        s.features.add("nested")
        inner = s.fresh("inner")
        body += [
            f"def {inner}(z):", "    c = tf.contrib.distribute.get_tower_context()",
            f"    log.append('{inner} %d' % c.tower_id)", f"    z = z * {s.numbers()}[c.tower_id]",
            "    return z + c.merge_call(lambda d, q: d.reduce(tf.VariableAggregation.SUM, q, d.worker_devices), z)",
            f"return d.call_for_each_tower({inner}, x)",
        ]  # fmt: skip
    else:
        body.append("r = " + s.pick([f"d.batch_reduce(tf.VariableAggregation.{how}, [(x, x)])[0]", reduced]))
        body.append("return r")
    kept = "x, y" if kind == 4 else "x"
    s.merges.append(f"    def {name}(d, {kept}):\n        " + "\n        ".join(body))
    s.add(f"{new} = {call}")
    if s.chance(0.4):
        s.log("after " + name)
    s.made(new, shape, own=False)


def failing(s):
    """A tower that raises, or that makes one call across towers more."""
    if s.chance(0.5):
        s.features.add("raises")
        s.add(f"if k == {s.below(2)}:")
        s.add("    raise ValueError('tower %d' % k)")
    else:
        s.features.add("unequal")
        s.add(f"if k == {s.below(2)}:")
        s.add("    ctx.merge_call(lambda d: None)")


STATEMENTS = (
    [plain] * 4 + [listed] * 3 + [arithmetic] * 3 + [branch] * 4 + [table] * 2 + [counter, shaped, conditional, loop]
)
STATEMENTS += [variable] * 3 + [assigned] * 3 + [local, dense] + [gradient] * 2 + [scoped] + [merged] * 6

RESULTS = ["({})", "[{}]", "{{'a': ({})}}", "Pair([{}], k)", "({}, k)", "({}, None)", "([{}], 'text')"]


def written(seed):
    """The text of a program, and what it has."""
    s = Source(seed)
    argument = s.pick(["1.5", "d.broadcast(tf.constant(0.75), d.worker_devices)", "tf.constant(-0.5)"])
    s.add("ctx = tf.contrib.distribute.get_tower_context()")
    s.add("k = ctx.tower_id")
    s.log("tower")
    for name, shape in zip(["s0", "s1", "s2"], SHAPES):
        s.add(f"{name} = tf.fill({shape}, 0.5) * {s.numbers()}[k] + x")
        s.made(name, shape)
    for _ in range(3 + s.below(8)):
        s.pick(STATEMENTS)(s)
    if s.chance(0.08):
        failing(s)
    kept = [v for v, _ in s.values[-1 - s.below(3) :]]
    s.log("returns")
    s.add("return " + s.pick(RESULTS).format(", ".join(kept)))
    text = "def program(tf, d, log):\n    n, count = d.num_towers, {}\n\n" + "\n\n".join(s.merges)
    text += "\n\n    def tower(x):\n" + "\n".join(s.lines)
    return text + f"\n\n    return d.call_for_each_tower(tower, {argument})\n", sorted(s.features)


def digits(value):
    """A float32 as its six digits; arrays as lists."""
    if isinstance(value, (list, tuple)):
        return [digits(v) for v in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return digits(value.tolist())
    if isinstance(value, float):
        return float(f"{value:.6g}")
    return value


def leaves(value):
    """What a structure has, in order: keys of dicts sorted."""
    if isinstance(value, dict):
        return [x for key in sorted(value) for x in leaves(value[key])]
    if isinstance(value, (list, tuple)):
        return [x for v in value for x in leaves(v)]
    return [value]


def shape_of(value):
    """A structure with its leaves' kinds."""
    if isinstance(value, dict):
        return {key: shape_of(v) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [type(value).__name__] + [shape_of(v) for v in value]
    return value if isinstance(value, (int, str)) or value is None else type(value).__name__


def facts(tf, seed, n):
    """What a program returns in two runs, its variables, names and the order of its calls; or the error."""
    (text, _), log, found = written(seed), [], {}
    namespace = {"Pair": Pair}
    exec(compile(text, "program_%d" % seed, "exec"), namespace)
    with tf.Graph().as_default():
        d = tf.contrib.distribute.MirroredStrategy(devices=["/device:CPU:%d" % i for i in range(n)])
        try:
            with d.scope():
                results = namespace["program"](tf, d, log)
                found.update(of_results(tf, d, results, n))
        except Exception as error:
            found = {"error": type(error).__name__, "message": str(error)[:120]}
    found["log"] = ", ".join(log)
    return found


def of_results(tf, d, results, n):
    kept = [d.unwrap(x) for x in leaves(results)]
    tensors = [x for part in kept for x in part if isinstance(x, tf.Tensor)]
    variables, trainable = tf.global_variables(), tf.trainable_variables()
    values = []
    config = tf.ConfigProto(device_count={"CPU": n})
    with tf.Session(config=config) as sess:
        sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        for _ in range(2):
            values.append(digits(sess.run(tensors)))
        last = [digits(sess.run(d.unwrap(v))) for v in variables]
    return {
        "kinds": shape_of(results), "count": [len(part) for part in kept], "names": [t.name for t in tensors],
        "values": values if values[0] != values[1] else values[:1],
        "variables": [[v.name, type(v).__name__, v in trainable, of] for v, of in zip(variables, last)],
        "components": [[c.name for c in d.unwrap(v)][1:] for v in variables],
    }  # fmt: skip
