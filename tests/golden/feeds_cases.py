"""What may be fed to placeholders of each element type: values as text, run by the original and by ours.

Runs under Python 3.6 too.
"""

import warnings

import numpy as np

DTYPES = ["float16", "bfloat16", "float32", "float64", "complex64", "complex128", "bool"]
DTYPES += ["int8", "int16", "int32", "int64", "uint8", "uint16", "string"]
VALUES = ["0", "1", "-1", "True", "300", "257", "2**24 + 1", "2**31", "2**33", "-2**31", "2**63", "10**30"]
VALUES += ["1.5", "1e10", "1e300", "float('nan')", "float('inf')", "1j", "1 + 0j", "None", "'ab'", "'12'", "b'ab'"]
VALUES += ["[]", "[1, 2]", "(1, 2)", "[True, False]", "[1.5, 2.0]", "[1, 2.5]", "[1j, 2]", "['a', 'b']", "['1', '2']"]
VALUES += ["[1, 'a']", "[None, 1]", "[[1], [1, 2]]", "[[1, 2], [3, 4]]", "range(3)", "{1, 2}", "{1: 2}", "object()"]
VALUES += ["[300, -1]", "[2**31, 5]", "[2**33 + 5]", "[10**30]", "[1e10]", "[float('nan')]", "[b'a', 'b']"]
VALUES += ["np.float32(1.5)", "np.int64(300)", "np.int64(2**33)", "np.bool_(True)", "np.float64(1e300)"]
VALUES += ["np.array([1, 2])", "np.array([300, -1])", "np.array([2**33 + 5])", "np.array([1.5, 2.0])"]
VALUES += ["np.array([1 + 1j])", "np.array(['a'])", "np.array([b'a'])", "np.array([1, 2], object)", "np.array(3)"]
VALUES += ["np.array(['1'], object)", "np.array([1 + 1j], object)", "np.array([None], object)", "np.array([], 'f')"]
VALUES += ["np.array([True, False])", "np.arange(4.0)[::-2]", "[np.float32(1), 2]", "[np.array([1]), np.array([2])]"]


def plain(array):
    """A fetched value as its dtype, shape and text, the same under each version of numpy."""
    array = np.asarray(array)
    if array.dtype == object:
        return ["object", list(array.shape), [v.decode() for v in array.ravel()]]
    wide = array.ravel() if array.dtype.kind in "biufc" else array.astype(np.float32).ravel()
    return [array.dtype.name, list(array.shape), [str(v) for v in wide.tolist()]]


def outcome(tf, dtype, value):
    """What feeding gives: the fetched value, or ``["error", its type]``."""
    with tf.Graph().as_default(), tf.Session() as session, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        x = tf.placeholder(getattr(tf, dtype))
        try:
            return plain(session.run(tf.identity(x), {x: eval(value, {"np": np})}))
        except Exception as error:
            return ["error", type(error).__name__]


def feeds(tf):
    """{dtype: {value: outcome}}"""
    return {dtype: {value: outcome(tf, dtype, value) for value in VALUES} for dtype in DTYPES}
