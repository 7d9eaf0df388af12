"""Summary operations over ``tf`` and ``np`` that are compared with 1.12, and how a summary is written down."""

import numpy as np

RANDOM = np.random.RandomState(0)
NORMAL = RANDOM.randn(200).astype(np.float32)
WIDE = RANDOM.randn(300) * 2.0 ** RANDOM.randint(-45, 70, 300)
EDGES = np.array([0.0, -0.0, 1e-12, -1e-12, 1.1e-12, 1e20, -1e20, 1.0, -1.0, 5e200, -5e150])
PIXELS = RANDOM.rand(2, 3, 4, 3).astype(np.float32)
SIGNED = RANDOM.randn(4, 3, 2, 1).astype(np.float32)
BAD = np.array([[[[1.0, 2.0, 3.0], [np.nan, 1.0, 1.0]], [[np.inf, 0.0, 0.0], [0.0, -1.0, 5.0]]]], np.float32)
BYTES = RANDOM.randint(0, 255, (2, 2, 3, 4)).astype(np.uint8)
SOUND = RANDOM.uniform(-1.2, 1.2, (2, 7, 2)).astype(np.float32)

CASES = [
    "tf.summary.scalar('loss', 1.5)", "tf.summary.scalar('a b/c?', 1.5)", "tf.summary.scalar('/x', 1.5)",
    "tf.summary.scalar('loss', 1.5, family='train')", "tf.summary.scalar('loss', [1.5])",
    "tf.summary.scalar('loss', tf.constant(0.1, tf.float64))",
    "tf.summary.scalar('loss', tf.constant(0.1, tf.float16))", "tf.summary.scalar('loss', tf.constant(3, tf.uint8))",
    "tf.summary.scalar('loss', tf.constant(2 ** 60 + 1, tf.int64))", "tf.summary.scalar('loss', float('nan'))",
    "tf.summary.scalar('loss', tf.constant(True))", "tf.summary.scalar('loss', 'text')",
    "tf.summary.scalar('loss', tf.placeholder_with_default(2.0, None))", "tf.summary.histogram('h', NORMAL)",
    "tf.summary.histogram('h', tf.constant(WIDE, tf.float64))",
    "tf.summary.histogram('h', tf.constant(EDGES, tf.float64))", "tf.summary.histogram('h', [])",
    "tf.summary.histogram('h', [1, 2, 2])", "tf.summary.histogram('h', tf.constant([True]))",
    "tf.summary.histogram('h', tf.constant([[1, 2], [3, -4]], tf.int16))",
    "tf.summary.histogram('h', tf.constant(NORMAL, tf.float16))", "tf.summary.histogram(None, 2.0)",
    "tf.summary.histogram('h', [1.0, float('nan')])", "tf.summary.histogram('h', [float('-inf'), float('nan')])",
    "tf.summary.image('i', PIXELS)", "tf.summary.image('i', PIXELS.astype(np.float64))",
    "tf.summary.image('i', PIXELS.astype(np.float16))", "tf.summary.image('i', SIGNED)",
    "tf.summary.image('i', SIGNED.astype(np.float16), max_outputs=9)", "tf.summary.image('i', BAD)",
    "tf.summary.image('i', BAD * np.nan)", "tf.summary.image('i', PIXELS * 1e-8)",
    "tf.summary.image('i', BYTES, max_outputs=1)", "tf.summary.image('i', BYTES, family='f')",
    "tf.summary.image('i', PIXELS[:0])", "tf.summary.image('i', PIXELS, max_outputs=0)",
    "tf.summary.image('i', PIXELS[..., :2])", "tf.summary.image('i', PIXELS[0])",
    "tf.summary.image('i', tf.zeros([1, 2, 2, 1], tf.int32))", "tf.summary.audio('a', SOUND, 44100)",
    "tf.summary.audio('a', SOUND[..., 0], 8000.4, max_outputs=1)", "tf.summary.audio('a', SOUND[0, :, 0], 8000.0)",
    "tf.summary.audio('a', SOUND, 0.0)", "tf.summary.text('t', tf.constant('# title'))",
    "tf.summary.text('t', tf.constant([['a', 'b'], ['c', 'd']]))", "tf.summary.text('t', tf.constant(1))",
    "tf.summary.tensor_summary('x', tf.constant([[1.5, 2.5]]))", "tf.summary.tensor_summary('x', 3)",
    "tf.summary.tensor_summary('x', tf.constant([True, False]), 'words', display_name='shown', family='f')",
    "tf.summary.merge([tf.summary.scalar('a', 1.0), tf.summary.histogram('b', NORMAL)])",
    "tf.summary.merge([tf.summary.scalar('a', 1.0)] * 2)", "tf.summary.merge([])",
    "[tf.summary.scalar('a', 1.0), tf.summary.scalar('a', 2.0), tf.summary.merge_all()][-1]",
    "[tf.summary.scalar('a', 1.0), tf.summary.scalar('b', 2.0), tf.summary.merge_all(scope='b')][-1]",
    "[tf.summary.scalar('a', 1.0, ['k']), tf.summary.scalar('b', 2.0), tf.summary.merge_all('k')][-1]",
]  # fmt: skip


def written(summary, pixels, array):
    """A ``Summary`` as lists that JSON can keep.

    Args:
      pixels: PNG -> array.
      array: TensorProto -> array.
    """
    found = []
    for value in summary.value:
        kind = value.WhichOneof("value")
        entry = [value.tag, kind, repr(value.metadata)]
        if kind == "simple_value":
            entry.append(repr(value.simple_value))
        elif kind == "histo":
            h = value.histo
            entry.append([repr(x) for x in (h.min, h.max, h.num, h.sum, h.sum_squares)])
            entry.append([[repr(limit), count] for limit, count in zip(h.bucket_limit, h.bucket)])  # noqa: B905
        elif kind == "image":
            i = value.image
            entry.append([i.height, i.width, i.colorspace, pixels(i.encoded_image_string).tolist()])
        elif kind == "audio":
            a = value.audio
            entry.append([a.sample_rate, a.num_channels, a.length_frames, a.content_type])
            entry.append(list(bytearray(a.encoded_audio_string)))
        else:
            found_array = array(value.tensor)
            entry.append([value.tensor.dtype, list(found_array.shape), repr(found_array.tolist())])
        found.append(entry)
    return found


def outcome(tf, case, pixels):
    """What a case gives: a summary written down, or the error's class and first line."""
    try:
        with tf.Graph().as_default(), tf.Session() as session:
            names = {k: v for k, v in globals().items() if k.isupper()}
            data = session.run(eval(case, dict(names, tf=tf, np=np)))
        return written(tf.Summary.FromString(data), pixels, tf.make_ndarray)
    except Exception as error:
        return [type(error).__name__, str(error).split("\n")[0].split(" [inputs")[0]]
