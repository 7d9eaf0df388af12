"""Taking elements out of datasets."""

import towerstrat.compat.v1 as tf


def elements(dataset, limit=10_000):
    """The elements of a dataset, up to ``limit``."""
    get_next = dataset.make_one_shot_iterator().get_next()
    found = []
    with tf.Session() as s:
        try:
            while len(found) < limit:
                found.append(s.run(get_next))
        except tf.errors.OutOfRangeError:
            pass
    return found


def pulled(dataset, limit=10_000):
    """The first component of each element, as plain lists, taken from the position itself (no run for each)."""
    get_next = dataset.make_one_shot_iterator().get_next()
    tensor = get_next
    while isinstance(tensor, tuple):
        tensor = tensor[0]
    found = []
    with tf.Session() as s:
        resource = tensor.op.attrs["iterator"].resource(s)
        try:
            while len(found) < limit:
                found.append([x.tolist() for x in resource.next()])
        except StopIteration:
            pass
    return [x[0] if len(x) == 1 else tuple(x) for x in found]


def chunks(programs):
    """How many of the traced programs are those of chunks."""
    return programs.count("_DataLoopProgram")
