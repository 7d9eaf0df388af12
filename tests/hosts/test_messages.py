"""Messages between processes: what comes back is what was sent, of the type that the reader names, or is refused."""

import builtins
import json
import subprocess
import sys
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from towerstrat import errors
from towerstrat.hosts.messages import MalformedMessage, RemoteOperation, decode, encode


class Inner(NamedTuple):
    data: bytes
    ratio: float


class Outer(NamedTuple):
    names: tuple[str, ...]
    inner: Inner | None
    facts: dict[str, int | str]


class Other(NamedTuple):
    names: tuple[str, ...]


class Operation(NamedTuple):
    name: str
    type: str
    created_at: str
    graph: object


@pytest.mark.parametrize(
    ("message", "schema"),
    [
        (None, str | None),
        (True, bool),
        (-(1 << 63), int),
        (2.5, float),
        ("\udc80\x00ü", str),
        (bytes(range(256)), bytes),
        ((), tuple[int, ...]),
        ((1, "a"), tuple[int, str]),
        (Outer(("a", "b"), Inner(b"\x00", 0.5), {"x": 1, "y": "z"}), Other | Outer),
        (Other(("a",)), Other | Outer),
    ],
)
def test_a_message_comes_back(message, schema):
    assert decode(encode(message), schema) == message
    assert type(decode(encode(message), schema)) is type(message)


@pytest.mark.parametrize(
    ("data", "schema"),
    [
        (b"", int),
        (b"\xff", str),
        (b"[" * 100_000, tuple[int, ...]),
        (b"1" * 5000, int),
        (b"true", int),
        (b"1.0", int),
        (str(1 << 64).encode(), int),
        (b"1", bool),
        (b'"no base64"', bytes),
        (b"[1, 2, 3]", tuple[int, str]),
        (b'{"a": 1}', dict[str, str]),
        (b'{"kind": "Inner", "data": "", "ratio": 1, "more": 1}', Inner),
        (b'{"kind": "Inner", "data": ""}', Inner),
        (encode(Other(())), Outer),
        (b'{"kind": "_PythonError", "name": "eval", "arguments": ["1"]}', BaseException),
        (b'{"kind": "_PythonError", "name": "os.system", "arguments": ["true"]}', BaseException),
        (b'{"kind": "_PythonError", "name": "OpError", "arguments": []}', BaseException),
        (b'{"kind": "_PythonError", "name": "ImportError", "arguments": [{"a": 1}]}', BaseException),
        (b'{"kind": "_RunError", "name": "ValueError", "message": "", "operation": null, "code": 1}', BaseException),
    ],
)
def test_what_is_of_another_type_is_refused(data, schema):
    with pytest.raises(MalformedMessage, match="Expected"):
        decode(data, schema)


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(data):
    for schema in (Outer | Other, BaseException, tuple[int, ...]):
        try:
            decode(data, schema)
        except MalformedMessage:
            continue


@given(
    st.recursive(
        st.none() | st.integers() | st.floats() | st.text(), lambda s: st.lists(s) | st.dictionaries(st.text(), s)
    )
)
def test_any_json_is_read_or_refused(value):
    test_any_bytes_are_read_or_refused.hypothesis.inner_test(json.dumps(value).encode())


KINDS = [name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, errors.OpError)]


@pytest.mark.parametrize("name", [name for name in KINDS if name not in ("OpError", "_Coded")])
def test_errors_of_runs_keep_class_message_operation_and_line(name):
    error = getattr(errors, name)(None, Operation("a/b", "Relu", "train.py:3", object()), "it failed")
    found = decode(encode(error), BaseException)
    assert type(found) is type(error)
    assert (found.message, found.error_code, str(found)) == ("it failed", error.error_code, str(error))
    assert found.op == RemoteOperation("a/b", "Relu", "train.py:3")


class Unlike(ValueError):
    """A class of a program."""

    def __init__(self, first, second):
        super().__init__(first, second)


class Own(errors.DataLossError):
    """A class of a program."""


@pytest.mark.parametrize(
    ("error", "kind", "arguments"),
    [
        (SystemExit(143), SystemExit, (143,)),
        (FileNotFoundError(2, "no file", "/data/a"), FileNotFoundError, (2, "no file")),
        (errors.UnsupportedError("not here"), errors.UnsupportedError, ("not here",)),
        (Exception("plain"), Exception, ("plain",)),
        (Unlike(1, 2), ValueError, ("Unlike: (1, 2)",)),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), UnicodeError, None),
        (ExceptionGroup("two", [ValueError()]), errors.UnknownError, None),
        (OSError("held", object()), errors.UnknownError, None),
        (Own(None, None, "damaged"), errors.DataLossError, ("damaged",)),
    ],
)
def test_errors_of_python_keep_their_class_or_name_it(error, kind, arguments):
    found = decode(encode(error), BaseException)
    assert type(found) is kind
    assert type(error).__name__ in repr(found) or isinstance(error, Own)
    assert arguments is None or found.args == arguments
    assert getattr(found, "filename", None) == getattr(error, "filename", None)


@pytest.mark.parametrize(
    "name", [n for n, v in vars(builtins).items() if isinstance(v, type) and issubclass(v, Exception)]
)
def test_any_class_of_python_can_be_sent(name):
    class Drawn(getattr(builtins, name)):
        pass

    try:
        error = Drawn("text")
    except TypeError:
        pytest.skip("made of more than a text")
    assert "text" in str(decode(encode(error), BaseException))


def test_the_codec_needs_neither_jax_nor_numpy():
    found = subprocess.run(
        [sys.executable, "-c", "import sys, towerstrat.hosts.messages; print({'jax', 'numpy'} & set(sys.modules))"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert found.stdout.strip() == "set()"
