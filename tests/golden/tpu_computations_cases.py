"""What TPU computations return and refuse while a graph is built. Runs under Python 3.6 too."""


def cases(tf):
    """Name -> a function that builds something in the default graph and returns it."""
    tpu = tf.contrib.tpu

    def x():
        return tf.constant([1.0, 2.0])

    def rows(*shape):
        return tf.zeros(shape or [4, 2])

    def rewrite(computation, *inputs):
        return lambda: tpu.rewrite(computation, [value() if callable(value) else value for value in inputs])

    def replicate(computation, *inputs):
        return lambda: tpu.replicate(computation, [[value() for value in own] for own in inputs])

    def shard(computation, **kwargs):
        return lambda: tpu.shard(computation, **dict({"inputs": [rows()], "num_shards": 2}, **kwargs))

    def repeat(body, *inputs):
        return lambda: tpu.repeat(3, body, [value() for value in inputs]) if inputs else tpu.repeat(3, body)

    def get_variable():
        return tf.get_variable("v", [4, 2], partitioner=tf.fixed_size_partitioner(2)) + 1.0

    return {
        "a tensor": rewrite(lambda a: a + 1, x),
        "a tuple": rewrite(lambda a: (a + 1, a), x),
        "a list": rewrite(lambda a: [a + 1, a], x),
        "nothing": rewrite(lambda: None),
        "an empty list": rewrite(lambda: []),
        "an operation": rewrite(lambda: tf.no_op()),
        "two operations": rewrite(lambda: (tf.no_op(), tf.no_op())),
        "a tensor and an operation": rewrite(lambda a: (a, tf.no_op()), x),
        "an operation and a tensor": rewrite(lambda a: (tf.no_op(), a), x),
        "a dictionary": rewrite(lambda a: {"k": a, "b": a + 1}, x),
        "a nest": rewrite(lambda a: (a, [a, a]), x),
        "an operation in a nest": rewrite(lambda a: (a, [tf.no_op()]), x),
        "a number": rewrite(lambda: 3),
        "an object": rewrite(lambda: object()),
        "slices": rewrite(lambda a: tf.IndexedSlices(a, tf.constant([0, 1])), x),
        "a sparse tensor": rewrite(lambda a: tf.SparseTensor([[0]], [1.0], [2]), x),
        "a variable": rewrite(lambda: tf.get_variable("v", [2])),
        "a partitioned variable": rewrite(get_variable),
        "a captured tensor": rewrite(lambda a, y=None: a, x),
        "numbers as inputs": rewrite(lambda a, b: a + b, 1.0, 2),
        "inputs that are no list": lambda: tpu.rewrite(lambda a: a, x()),
        "inputs as a tuple": lambda: tpu.rewrite(lambda a: a, (x(),)),
        "too few inputs": rewrite(lambda a, b: a, x),
        "too many inputs": rewrite(lambda: 1, x),
        "an input with a default": rewrite(lambda a, b=None: a, x),
        "any number of inputs": rewrite(lambda a, *others: a, x, x, x),
        "too few of any number": rewrite(lambda a, *others: a),
        "an input too many for defaults": rewrite(lambda a, b=1: a, x, x, x),
        "replicas": replicate(lambda a: (a, a * 2), [x], [x]),
        "replicas without inputs": lambda: tpu.replicate(lambda: 1.0),
        "replicas of operations": replicate(lambda a: tf.no_op(), [x], [x]),
        "replicas of a dictionary": replicate(lambda a: {"k": a}, [x], [x]),
        "replicas that are no lists": lambda: tpu.replicate(lambda a: a, [x()]),
        "replicas in a tuple": lambda: tpu.replicate(lambda a: a, ([x()], [x()])),
        "replicas of other numbers": replicate(lambda a: a, [x], [x, x]),
        "replicas of other types": replicate(lambda a: a, [x], [lambda: tf.constant([1, 2])]),
        "replicas of other shapes": replicate(lambda a: a, [x], [lambda: tf.zeros([3])]),
        "shards": shard(lambda a: (a, a * 2)),
        "shards of an operation": shard(lambda a: tf.no_op()),
        "shards of nothing": shard(lambda a: None),
        "shards of a scalar": shard(lambda a: tf.reduce_sum(a)),
        "shards along another dimension": shard(lambda a: a, input_shard_axes=[1]),
        "shards joined along another dimension": shard(lambda a: a, output_shard_axes=[1]),
        "some outputs of all shards": shard(lambda a: (a, a), outputs_from_all_shards=[True, False]),
        "outputs of one shard": shard(lambda a: (a, a), outputs_from_all_shards=False),
        "shards without inputs": shard(lambda: tf.zeros([1]), inputs=None),
        "no shards": shard(lambda a: a, num_shards=0),
        "shards of a tuple": shard(lambda a: a, inputs=(1.0,)),
        "another number of dimensions": shard(lambda a: a, input_shard_axes=[0, 1]),
        "another number of output dimensions": shard(lambda a: a, output_shard_axes=[0, 1]),
        "another number of flags": shard(lambda a: a, outputs_from_all_shards=[True, False]),
        "what does not divide": lambda: tpu.shard(lambda a: a, [rows(3, 2)], num_shards=2),
        "batches": lambda: tpu.batch_parallel(lambda a: a, [rows()], num_shards=2),
        "a computation in another": rewrite(lambda: tpu.rewrite(lambda: 1.0)),
        "shards in a computation": rewrite(lambda: tpu.shard(lambda: tf.zeros([1]), num_shards=2)),
        "what runs outside": lambda: tpu.outside_compilation(lambda a, b=1: (a, b), x(), b=x()),
        "what runs outside of a computation": rewrite(lambda a: tpu.outside_compilation(lambda c: c + 1, a), x),
        "what runs outside twice": rewrite(
            lambda a: tpu.outside_compilation(lambda c: tpu.outside_compilation(lambda d: d, c), a), x
        ),
        "repeated": repeat(lambda a: a, x),
        "repeated on one value": lambda: tpu.repeat(3, lambda a: a, x()),
        "repeated operations": repeat(lambda: tf.no_op()),
        "repeated nothing": repeat(lambda: None),
        "repeated empty lists": lambda: tpu.repeat(3, lambda: [], []),
        "repeated values and an operation": repeat(lambda a, b: (a, b, tf.no_op()), x, x),
        "repeated operations before values": repeat(lambda a: (tf.no_op(), a), x),
        "repeated with another type": repeat(lambda a: tf.cast(a, tf.int32), x),
        "repeated with another number": repeat(lambda a: (a, a), x),
        "repeated with too few inputs": repeat(lambda a, b: a, x),
        "repeated as a tensor says": lambda: tpu.repeat(tf.constant(3), lambda a: a, [x()]),
        "repeated in a computation": rewrite(lambda a: tpu.repeat(3, lambda b: b * 2, [a]), x),
        "a loop of one": lambda: tpu.while_loop(lambda i: i < 3, lambda i: i + 1, [0]),
        "a loop of two": lambda: tpu.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a), [0, x()]),
        "a loop of nothing": lambda: tpu.while_loop(lambda: tf.constant(False), lambda: tf.no_op()),
        "a loop of an operation and a value": lambda: tpu.while_loop(lambda i: i < 3, lambda i: (tf.no_op(), i), [0]),
        "a loop whose condition takes too few": lambda: tpu.while_loop(lambda: True, lambda i: i, [0]),
        "a loop whose body takes too few": lambda: tpu.while_loop(lambda i: True, lambda: 1, [0]),
        "a loop over no list": lambda: tpu.while_loop(lambda i: i < 3, lambda i: i + 1, 0),
        "a loop that returns nothing": lambda: tpu.while_loop(lambda i: i < 3, lambda i: None, [0]),
        "a loop that grows": lambda: tpu.while_loop(
            lambda a: tf.constant(False), lambda a: tf.concat([a, a], 0), [x()]
        ),
    }


def described(tf, value):
    """What a case returned, as text: structures with the types and shapes of their tensors."""
    if isinstance(value, (list, tuple)):
        return type(value).__name__ + "[" + ", ".join(described(tf, v) for v in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(key + ": " + described(tf, value[key]) for key in sorted(value)) + "}"
    if isinstance(value, tf.Operation):
        return "operation"
    return value.dtype.name + str(value.shape)


def found(tf):
    """Name -> what each case returned, or the class of its error."""
    results = {}
    for name, build in sorted(cases(tf).items()):
        with tf.Graph().as_default():
            try:
                results[name] = described(tf, build())
            except Exception as error:
                results[name] = type(error).__name__
    return results
