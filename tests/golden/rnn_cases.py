"""Recurrent networks that the original and ours both build. Runs under Python 3.6 too.

A case is a function of the namespace ``tf`` that builds a graph and returns the tensors to fetch, in a structure whose
leaves ``run`` numbers. Every trainable variable gets fixed values, by its name and shape.
"""

from tests.golden.plain_values import numbers

BATCH, TIME, DEPTH = 3, 4, 2


def rows(tf, known=True, time_major=False):
    value = numbers(TIME, BATCH, DEPTH) if time_major else numbers(BATCH, TIME, DEPTH)
    shape = value.shape if known else (None, None, DEPTH)
    return tf.placeholder_with_default(value, shape)


def steps(tf):
    return [tf.constant(numbers(BATCH, DEPTH, key=i)) for i in range(TIME)]


def over(make, **kwargs):
    """A case: ``dynamic_rnn`` of a cell, with the lengths of sequences where ``lengths`` are given."""
    lengths = kwargs.pop("lengths", None)
    known = kwargs.pop("known", True)

    def case(tf):
        x = rows(tf, known, kwargs.get("time_major", False))
        given = None if lengths is None else tf.constant(lengths)
        return tf.nn.dynamic_rnn(make(tf), x, sequence_length=given, dtype=tf.float32, **kwargs)

    return case


def stack(tf):
    cell = tf.nn.rnn_cell
    inner = [
        cell.BasicLSTMCell(3), cell.ResidualWrapper(cell.GRUCell(3)), cell.DeviceWrapper(cell.LSTMCell(2), "/cpu:0"),
    ]  # fmt: skip
    return cell.MultiRNNCell(inner)


def flat_stack(tf):
    return tf.nn.rnn_cell.MultiRNNCell(
        [tf.nn.rnn_cell.BasicLSTMCell(2, state_is_tuple=False), tf.nn.rnn_cell.GRUCell(3)], state_is_tuple=False
    )


def full_lstm(tf, **kwargs):
    return tf.nn.rnn_cell.LSTMCell(
        3, use_peepholes=True, cell_clip=0.4, num_proj=2, proj_clip=0.3, forget_bias=0.5, **kwargs
    )


def own_cell(tf):
    class Own(tf.nn.rnn_cell.RNNCell):
        @property
        def state_size(self):
            return (2, tf.TensorShape([3]))

        @property
        def output_size(self):
            return 2

        def call(self, inputs, state):
            one, two = state
            w = tf.get_variable("w", [DEPTH, 2])
            b = tf.get_variable("b", [3], trainable=False, initializer=tf.ones_initializer())
            new = tf.tanh(tf.matmul(inputs, w) + one)
            return new, (new, two * 0.5 + b)

    return Own()


def both_ways(tf):
    cell = tf.nn.rnn_cell
    return tf.nn.bidirectional_dynamic_rnn(
        cell.GRUCell(2), cell.BasicLSTMCell(3), rows(tf), sequence_length=[4, 1, 2], dtype=tf.float32
    )


def both_ways_whole(tf):
    cell = tf.nn.rnn_cell
    return tf.nn.bidirectional_dynamic_rnn(
        cell.GRUCell(2), cell.GRUCell(3), rows(tf, time_major=True), time_major=True, dtype=tf.float32
    )


def with_state(tf):
    cell = tf.nn.rnn_cell.LSTMCell(3)
    state = tf.nn.rnn_cell.LSTMStateTuple(tf.constant(numbers(BATCH, 3)), tf.constant(numbers(BATCH, 3, key=1)))
    return tf.nn.dynamic_rnn(cell, rows(tf), initial_state=state, sequence_length=[2, 0, 4])


def structured(tf):
    class Pair(tf.nn.rnn_cell.RNNCell):
        state_size = 2
        output_size = (2, 1)

        def call(self, inputs, state):
            one, two = inputs
            new = tf.tanh(state + one)
            return (new * 2.0, two), new

    x = rows(tf)
    return tf.nn.dynamic_rnn(Pair(), (x, x[:, :, :1]), dtype=tf.float32)


def listed(tf):
    return tf.nn.static_rnn(tf.nn.rnn_cell.LSTMCell(3), steps(tf), dtype=tf.float32)


def listed_lengths(tf):
    return tf.nn.static_rnn(tf.nn.rnn_cell.BasicRNNCell(3), steps(tf), dtype=tf.float32, sequence_length=[0, 4, 2])


def listed_both(tf):
    cell = tf.nn.rnn_cell
    return tf.nn.static_bidirectional_rnn(
        cell.GRUCell(2), cell.GRUCell(3), steps(tf), dtype=tf.float32, sequence_length=[1, 4, 2]
    )


def raw(tf):
    cell = tf.nn.rnn_cell.LSTMCell(3)
    inputs = tf.TensorArray(tf.float32, size=TIME).unstack(numbers(TIME, BATCH, DEPTH))
    lengths = tf.constant([4, 1, 2])

    def loop_fn(time, cell_output, cell_state, loop_state):
        state = cell.zero_state(BATCH, tf.float32) if cell_output is None else cell_state
        finished = time >= lengths
        row = tf.cond(tf.reduce_all(finished), lambda: tf.zeros([BATCH, DEPTH]), lambda: inputs.read(time))
        return finished, row, state, cell_output, None

    outputs, state, _ = tf.nn.raw_rnn(cell, loop_fn)
    return outputs.stack(), state


def by_hand(tf):
    cell = tf.nn.rnn_cell.BasicLSTMCell(3)
    state = cell.zero_state(BATCH, tf.float32)
    outputs = []
    with tf.variable_scope("mine"):
        for i, x in enumerate(steps(tf)):
            if i:
                tf.get_variable_scope().reuse_variables()
            output, state = cell(x, state)
            outputs.append(output)
    return outputs, state


def shared(tf):
    """Cells of one name share variables where that is asked for."""
    with tf.variable_scope("scope"):
        one, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(2), rows(tf), dtype=tf.float32)
    with tf.variable_scope("scope", reuse=True):
        two, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(2), rows(tf) * 2.0, dtype=tf.float32)
    return one, two


def kept_dropout(tf):
    """Dropout that keeps all, and parts of states that are never dropped."""
    cell = tf.nn.rnn_cell.DropoutWrapper(tf.nn.rnn_cell.LSTMCell(3), 1.0, 1.0, tf.constant(1.0), seed=3)
    return tf.nn.dynamic_rnn(cell, rows(tf), dtype=tf.float32)


def unnormalized(tf):
    with tf.variable_scope("ones", initializer=tf.ones_initializer()):
        cell = tf.contrib.rnn.LayerNormBasicLSTMCell(3, 0.5, layer_norm=False)
        return tf.nn.dynamic_rnn(cell, rows(tf), dtype=tf.float32)


def stacked_ways(tf):
    def cells():
        return [tf.nn.rnn_cell.GRUCell(2), tf.nn.rnn_cell.LSTMCell(3)]

    return tf.contrib.rnn.stack_bidirectional_dynamic_rnn(
        cells(), cells(), rows(tf), dtype=tf.float32, sequence_length=[4, 1, 3]
    )


def embedded(tf):
    cell = tf.contrib.rnn.EmbeddingWrapper(tf.nn.rnn_cell.GRUCell(2), 5, 3)
    with tf.variable_scope("mine") as scope:
        output, state = cell(tf.constant([1, 0, 4]), cell.zero_state(BATCH, tf.float32))
        scope.reuse_variables()
        return cell(tf.constant([1, 2, 4]), state), output


CASES = {
    "block": over(lambda tf: tf.contrib.rnn.LSTMBlockCell(3, 0.5), lengths=[4, 0, 2]),
    "gru_block": over(lambda tf: tf.contrib.rnn.GRUBlockCell(3)),
    "gru_block_v2": over(lambda tf: tf.contrib.rnn.GRUBlockCellV2(3)),
    "layer_norm": over(lambda tf: tf.contrib.rnn.LayerNormBasicLSTMCell(3)), "layer_norm_none": unnormalized,
    "ugrnn": over(lambda tf: tf.contrib.rnn.UGRNNCell(3, forget_bias=0.5), lengths=[1, 4, 3]),
    "projected_in": over(lambda tf: tf.contrib.rnn.InputProjectionWrapper(tf.nn.rnn_cell.GRUCell(3), 4, tf.tanh)),
    "projected_out": over(lambda tf: tf.contrib.rnn.OutputProjectionWrapper(tf.nn.rnn_cell.LSTMCell(3), 2)),
    "stacked_ways": stacked_ways, "embedded": embedded, "basic": over(lambda tf: tf.nn.rnn_cell.BasicRNNCell(3)),
    "basic_relu": over(lambda tf: tf.nn.rnn_cell.BasicRNNCell(3, activation="relu"), lengths=[1, 4, 0]),
    "gru": over(lambda tf: tf.nn.rnn_cell.GRUCell(3)),
    "gru_bias": over(lambda tf: tf.nn.rnn_cell.GRUCell(3, bias_initializer=tf.constant_initializer(0.5))),
    "gru_lengths": over(lambda tf: tf.nn.rnn_cell.GRUCell(3), lengths=[2, 4, 1], known=False),
    "basic_lstm": over(lambda tf: tf.nn.rnn_cell.BasicLSTMCell(3), scope="own"),
    "basic_lstm_flat": over(lambda tf: tf.nn.rnn_cell.BasicLSTMCell(3, 0.0, state_is_tuple=False), lengths=[4, 4, 2]),
    "lstm": over(lambda tf: tf.nn.rnn_cell.LSTMCell(3, name="named"), time_major=True),
    "lstm_unknown": over(lambda tf: tf.nn.rnn_cell.LSTMCell(3), known=False, time_major=True),
    "lstm_full": over(full_lstm),
    "lstm_full_flat": over(lambda tf: full_lstm(tf, state_is_tuple=False), lengths=[3, 0, 4]),
    "lstm_softsign": over(lambda tf: tf.nn.rnn_cell.LSTMCell(2, activation=tf.nn.softsign)), "stack": over(stack),
    "stack_lengths": over(stack, lengths=[4, 0, 2]), "stack_flat": over(flat_stack),
    "own": over(own_cell, lengths=[1, 2, 4]), "both_ways": both_ways, "both_ways_whole": both_ways_whole,
    "with_state": with_state, "structured": structured, "listed": listed, "listed_lengths": listed_lengths,
    "listed_both": listed_both, "raw": raw, "by_hand": by_hand, "shared": shared, "kept_dropout": kept_dropout,
}  # fmt: skip


def leaves(nested):
    if isinstance(nested, (list, tuple)):
        return [leaf for part in nested for leaf in leaves(part)]
    return [nested]


def run(tf, case):
    """(facts, arrays): names and shapes of variables and outputs; values, and gradients of everything trainable."""
    with tf.Graph().as_default():
        outputs = leaves(case(tf))
        variables = tf.global_variables()
        trainable = tf.trainable_variables()
        loss = tf.add_n([tf.reduce_sum(y * numbers(*y.shape.as_list()[-1:], key=7)) for y in outputs])
        gradients = [tf.convert_to_tensor(g) for g in tf.gradients(loss, trainable)]
        facts = {
            "variables": [[v.name, v.shape.as_list()] for v in variables],
            "trainable": [v.name for v in trainable],
            "shapes": [y.shape.as_list() for y in outputs],
        }
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            arrays = {"b" + str(i): v for i, v in enumerate(sess.run([v for v in variables if "bias" in v.name]))}
            for v in trainable:
                v.load(numbers(*v.shape.as_list(), key=v.name), sess)
            arrays.update({"y" + str(i): v for i, v in enumerate(sess.run(outputs))})
            arrays.update({"d" + str(i): g for i, g in enumerate(sess.run(gradients))})
    return facts, arrays
