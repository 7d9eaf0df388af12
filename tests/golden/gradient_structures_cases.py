"""Structural operations around a function of a vector, and their formulas. Runs under Python 3.6 too.

A structure is built by ``build(k, f, x)`` from public names; ``formula(k, f, x)`` is the same in plain arithmetic.
``f`` maps a vector of two numbers to one, and may be a structure itself; ``k`` is a kit: of the library or the original
on one side (``Kit``), of arrays on the other, with the same readings of ``w`` and the same writes.
"""

import numpy as np

SHARE = 0.5
MIX = np.array([[0.5, -0.25], [0.75, 1.0]])


class Kit:
    """What structures are made of.

    Attributes:
      tf, v1: the namespace, and the one that has names of 1.x.
      w: a variable of a number that each reading takes part in the gradient of.
      s: a variable of two numbers that structures write and read again.
      count: counts how often a write inside of a structure ran; None where nothing is written.
      flag: a bool that is true when the program runs, and is no constant.
      limit: the most trips of loops that find out when they end, where they have to say so; else None.
    """

    def __init__(self, tf, v1, function, w, s, count, flag, limit=None):
        self.tf, self.v1, self.function = tf, v1, function
        self.w, self.s, self.count, self.flag, self.limit = w, s, count, flag, limit

    def leaf(self, x):
        """The innermost function."""
        with self.tf.control_dependencies(self.writes()):
            x = self.tf.identity(x)
        return self.tf.sin(x) * self.w

    def writes(self):
        return [] if self.count is None else [self.count.assign_add(1.0)]

    def loop(self, trips, body, first):
        """A loop over a variable, of a number of trips that is known."""
        return self.tf.while_loop(lambda i, a: i < trips, lambda i, a: (i + 1, body(a)), [self.tf.constant(0), first])[
            1
        ]

    def loop_while(self, condition, body, first):
        """A loop over a variable that ends when it finds so."""
        start, counted = [self.tf.constant(0), first], lambda i, a: (i + 1, body(a))
        return self.tf.while_loop(condition, counted, start, maximum_iterations=self.limit)[1]

    def trips(self, number):
        """A number of trips that is found when the program runs."""
        return self.tf.cast(self.flag, self.tf.int32) * number

    def rows(self, x):
        return self.tf.stack([x, x * SHARE])


class Structure:
    """A way to use a function.

    Attributes:
      needs: the first version whose original has it: "1.12", "1.15" or "2".
      reads_back: it reads ``s``, which has a gradient then.
    """

    needs = "1.12"
    reads_back = False

    @staticmethod
    def build(k, f, x):
        raise NotImplementedError

    @staticmethod
    def formula(k, f, x):
        raise NotImplementedError


class plain(Structure):
    """No structure."""

    @staticmethod
    def build(k, f, x):
        return f(x)

    formula = build


class while_initial(Structure):
    """A loop whose variable begins with what is differentiated."""

    @staticmethod
    def build(k, f, x):
        return k.loop(2, lambda a: f(a) * SHARE, x * k.w)

    @staticmethod
    def formula(k, f, x):
        return f(f(x * k.w) * SHARE) * SHARE


class while_captured(Structure):
    """A loop that uses a tensor of outside."""

    @staticmethod
    def build(k, f, x):
        inside = x * k.w
        return k.loop(2, lambda a: a * SHARE + f(x) * inside, k.tf.constant([0.25, -0.5], k.tf.float64))

    @staticmethod
    def formula(k, f, x):
        a = k.constant([0.25, -0.5])
        for _ in range(2):
            a = a * SHARE + f(x) * x * k.w
        return a


class while_variable(Structure):
    """A loop that reads a variable."""

    @staticmethod
    def build(k, f, x):
        return k.loop(2, lambda a: f(a) * k.w + a, k.tf.sin(x))

    @staticmethod
    def formula(k, f, x):
        a = k.sin(x)
        for _ in range(2):
            a = f(a) * k.w + a
        return a


class while_arrays(Structure):
    """A loop that reads one TensorArray and writes another."""

    @staticmethod
    def build(k, f, x):
        tf = k.tf
        rows = tf.TensorArray(tf.float64, 2).unstack(k.rows(x))

        def body(i, a, made):
            a = f(a + rows.read(i)) * SHARE
            return i + 1, a, made.write(i, a)

        start = [tf.constant(0), x * k.w, tf.TensorArray(tf.float64, 2)]
        made = tf.while_loop(lambda i, a, made: i < 2, body, start)[2]
        return tf.reduce_sum(made.stack() * MIX, 0)

    @staticmethod
    def formula(k, f, x):
        one = f(x * k.w + x) * SHARE
        two = f(one + x * SHARE) * SHARE
        return one * MIX[0] + two * MIX[1]


class while_one_trip(Structure):
    """A loop that is found to run once."""

    @staticmethod
    def build(k, f, x):
        trips = k.trips(1)
        return k.loop_while(lambda i, a: i < trips, lambda a: f(a) * SHARE + x * k.w, x * k.w)

    @staticmethod
    def formula(k, f, x):
        return f(x * k.w) * SHARE + x * k.w


class while_no_trip(Structure):
    """A loop that is found not to run."""

    @staticmethod
    def build(k, f, x):
        trips = k.trips(0)
        return k.loop_while(lambda i, a: i < trips, lambda a: f(a) * k.w + x, x * k.w) + f(x)

    @staticmethod
    def formula(k, f, x):
        return x * k.w + f(x)


class while_condition(Structure):
    """A loop whose condition looks at the data, and writes."""

    @staticmethod
    def build(k, f, x):
        tf = k.tf

        def condition(i, a):
            with tf.control_dependencies(k.writes()):
                return (tf.identity(i) < 2) & (tf.reduce_sum(a) > -1e9)

        return k.loop_while(condition, lambda a: f(a) * SHARE + x, x * k.w)

    @staticmethod
    def formula(k, f, x):
        a = x * k.w
        for _ in range(2):
            k.writes()
            a = f(a) * SHARE + x
        k.writes()
        return a


class cond(Structure):
    """Branches, of which the first and of which the second is taken."""

    @staticmethod
    def build(k, f, x):
        inside = x * k.w
        one = k.tf.cond(k.flag, lambda: f(x), lambda: x * k.w)
        two = k.tf.cond(k.flag, lambda: inside * k.w, lambda: f(x * SHARE))
        return one + two

    @staticmethod
    def formula(k, f, x):
        return f(x) + x * k.w * k.w


class case(Structure):
    """The second of several branches is taken."""

    @staticmethod
    def build(k, f, x):
        inside = x * k.w
        return k.v1.case(
            [(k.tf.logical_not(k.flag), lambda: x * k.w), (k.flag, lambda: f(inside) * SHARE)], default=lambda: x
        )

    @staticmethod
    def formula(k, f, x):
        return f(x * k.w) * SHARE


class scan(Structure):
    """``tf.scan`` from an initial value."""

    @staticmethod
    def build(k, f, x):
        found = k.v1.scan(lambda a, e: f(a + e) * SHARE, k.rows(x), initializer=x * k.w)
        return k.tf.reduce_sum(found * MIX, 0)

    formula = while_arrays.formula


class foldl(Structure):
    """``tf.foldl`` from an initial value."""

    @staticmethod
    def build(k, f, x):
        return k.v1.foldl(lambda a, e: f(a) * e, k.rows(x), initializer=x * k.w)

    @staticmethod
    def formula(k, f, x):
        return f(f(x * k.w) * x) * x * SHARE


class foldr(Structure):
    """``tf.foldr`` from an initial value."""

    @staticmethod
    def build(k, f, x):
        return k.v1.foldr(lambda a, e: f(a) * e, k.rows(x), initializer=x * k.w)

    @staticmethod
    def formula(k, f, x):
        return f(f(x * k.w) * x * SHARE) * x


class map_fn(Structure):
    """``tf.map_fn`` over rows that are differentiated."""

    @staticmethod
    def build(k, f, x):
        inside = x * k.w
        return k.tf.reduce_sum(k.v1.map_fn(lambda e: f(e) * e + inside, k.rows(x)) * MIX, 0)

    @staticmethod
    def formula(k, f, x):
        one, two = [f(e) * e + x * k.w for e in (x, x * SHARE)]
        return one * MIX[0] + two * MIX[1]


class vectorized_map(Structure):
    """``tf.vectorized_map`` over rows that are differentiated."""

    needs = "1.15"

    @staticmethod
    def build(k, f, x):
        inside = x * k.w
        return k.tf.reduce_sum(k.tf.vectorized_map(lambda e: f(e) * e + inside, k.rows(x)) * MIX, 0)

    formula = map_fn.formula


class jacobian(Structure):
    """The whole Jacobian of a function."""

    needs = "1.15"

    @staticmethod
    def build(k, f, x):
        with k.tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return k.tf.reduce_sum(tape.jacobian(y, x) * MIX, 0) + x

    @staticmethod
    def formula(k, f, x):
        return (k.jacobian(f, x) * MIX).sum(0) + x


class batch_jacobian(Structure):
    """The Jacobians of a batch."""

    needs = "1.15"

    @staticmethod
    def build(k, f, x):
        tf = k.tf
        with tf.GradientTape() as tape:
            rows = k.rows(x)
            tape.watch(rows)
            y = tf.stack([f(rows[0]), f(rows[1])])
        return tf.reduce_sum(tape.batch_jacobian(y, rows) * np.stack([MIX, MIX * SHARE]), [0, 1]) + x

    @staticmethod
    def formula(k, f, x):
        one, two = k.jacobian(f, x), k.jacobian(f, x * SHARE)
        return (one * MIX).sum(0) + (two * MIX * SHARE).sum(0) + x


class custom_gradient(Structure):
    """A function with a gradient of its own, before and after."""

    @staticmethod
    def build(k, f, x):
        @k.tf.custom_gradient
        def square(a):
            return a * a, lambda d: 2.0 * a * d

        return square(f(x)) + f(square(x))

    @staticmethod
    def formula(k, f, x):
        y = f(x)
        return y * y + f(x * x)


class dynamic_rnn(Structure):
    """``tf.nn.dynamic_rnn`` from an initial state."""

    @staticmethod
    def build(k, f, x):
        class Cell(k.v1.nn.rnn_cell.RNNCell):
            state_size = output_size = 2

            def call(self, inputs, state):
                found = k.tf.expand_dims(f(k.tf.reshape(inputs + state, [2])) * SHARE, 0)
                return found, found

        rows, state = k.tf.expand_dims(k.rows(x), 0), k.tf.expand_dims(x * k.w, 0)
        found = k.v1.nn.dynamic_rnn(Cell(dtype=k.tf.float64), rows, initial_state=state)[0]
        return k.tf.reduce_sum(found[0] * MIX, 0)

    formula = while_arrays.formula


class function_once(Structure):
    """A function that is called once."""

    @staticmethod
    def build(k, f, x):
        return k.function(lambda a: f(a) * k.w + x)(x * k.w)

    @staticmethod
    def formula(k, f, x):
        return f(x * k.w) * k.w + x


class function_twice(Structure):
    """A function that is called twice."""

    @staticmethod
    def build(k, f, x):
        called = k.function(lambda a: f(a) * k.w)
        return called(x) + called(x * k.w)

    @staticmethod
    def formula(k, f, x):
        return f(x) * k.w + f(x * k.w) * k.w


class function_in_loop(Structure):
    """A function that a loop calls."""

    @staticmethod
    def build(k, f, x):
        called = k.function(lambda a: f(a) * SHARE)
        return k.loop(2, lambda a: called(a) + x, x * k.w)

    @staticmethod
    def formula(k, f, x):
        return f(f(x * k.w) * SHARE + x) * SHARE + x


class read_after_write(Structure):
    """A variable that is read after it was written: the reading has a gradient, what was written has none."""

    reads_back = True

    @staticmethod
    def build(k, f, x):
        with k.tf.control_dependencies([k.s.assign(x * SHARE)]):
            read = k.tf.identity(k.s)
        return f(x * k.w) * read

    @staticmethod
    def formula(k, f, x):
        read = k.read_back(x * SHARE)
        return f(x * k.w) * read


STRUCTURES = {s.__name__: s for s in Structure.__subclasses__()}


def function_of(k, nest, side, structures=STRUCTURES):
    """The function of a vector that a nest is: ``(structure, nest, ...)``, the inner ones one after the other.

    ``side`` is "build" or "formula".
    """
    inner = [function_of(k, part, side, structures) for part in nest[1:]] or [k.leaf]

    def body(x):
        for f in inner:
            x = f(x)
        return x

    return lambda x: getattr(structures[nest[0]], side)(k, body, x)


def names_in(nest):
    return [nest[0]] + [name for part in nest[1:] for name in names_in(part)]


def reads_back(nest):
    """Whether it has a gradient by ``s``."""
    return any(STRUCTURES[name].reads_back for name in names_in(nest))
