"""What Python and numpy have not any more is there in programs that are run, and nowhere else."""

import collections
import importlib
import subprocess
import sys

import numpy as np
import pytest

from towerstrat.compat.program import legacy_python
from towerstrat.compat.program.legacy_python import numpy_names, stdlib_functions
from towerstrat.compat.program.legacy_python.stdlib import imp
from towerstrat.compat.program.legacy_python.stdlib.distutils import dir_util, spawn, util, version

PROGRAM = """
from collections import Mapping
import collections, fractions, inspect, os, time
import distutils.version, imp
import xml.etree.cElementTree as ElementTree
import numpy as np
import tensorflow as tf

for _ in range(2):
    print(issubclass(dict, Mapping), collections.Callable is collections.abc.Callable, time.clock() >= 0.0)
    print(inspect.getargspec(lambda a, b=1, *c, **d: 0), fractions.gcd(12, 18), os.errno.ENOENT)
    print(np.zeros(2, np.float).dtype, np.product([2, 3]), np.in1d([1, 2], [2]), np.infty, np.bool(1))
print(distutils.version.LooseVersion(tf.VERSION) > "1.4", imp.new_module("made").__name__)
print(ElementTree.fromstring("<a><b/></a>")[0].tag, hasattr(np, "nothing"), hasattr(collections, "nothing"))
"""


def test_a_program_has_the_names_and_is_told_once(program):
    code, output, error = program(PROGRAM, options=["--api", "1"])
    lines = output.splitlines()
    assert (code, lines[:3]) == (0, lines[3:6]), error
    assert lines[0] == "True True True"
    assert lines[1] == "ArgSpec(args=['a', 'b'], varargs='c', keywords='d', defaults=(1,)) 6 2"
    assert lines[2] == "float64 6 [False  True] inf True"
    assert lines[6:] == ["True made", "b False False"]
    said = [line for line in error.splitlines() if line.startswith("towerstrat: ")]
    assert len(said) == len(set(said))
    for name, line, now in (
        ("collections.Mapping", 2, "it is collections.abc.Mapping here"),
        ("inspect.getargspec", 11, "it is one of towerstrat's here"),
        ("numpy.float", 12, "it is float here"),
    ):
        assert [s for s in said if f"old.py:{line} uses {name}, which is no more: {now}" in s], error


ARRAYS = """
import subprocess, sys
import numpy as np
import tensorflow as tf

image = np.arange(4, dtype=np.uint8).reshape(2, 2)
print(image.tostring(), image.tostring("F"), np.float32(1.0).tostring())
print(np.fromstring(image.tostring(), np.uint8), np.fromstring(b"abcd", np.int16, 1), np.fromstring("1 2", sep=" "))
print(np.fromstring(b"ab", np.uint8).flags.writeable, image.ptp(), image.ptp(axis=0))
image.itemset(1, 7)
image.itemset((1, 1), 9)
print(image.tolist(), image.astype(np.int16).newbyteorder().tolist(), flush=True)
child = "import numpy as np; print(np.zeros(2, np.uint8).tostring())"
subprocess.run([sys.executable, "-c", "import sys; " + child], check=True)
"""


def test_arrays_have_the_methods_that_wrote_and_read_records(program):
    code, output, error = program(ARRAYS, options=["--api", "1"])
    assert (code, output.splitlines()) == (
        0,
        [
            r"b'\x00\x01\x02\x03' b'\x00\x02\x01\x03' b'\x00\x00\x80?'",
            "[0 1 2 3] [25185] [1. 2.]",
            "True 3 [2 2]",
            "[[0, 7], [2, 9]] [[0, 1792], [512, 2304]]",
            r"b'\x00\x00'",
        ],
    ), error
    if not hasattr(np.ndarray, "tostring"):
        assert "old.py:7 uses ndarray.tostring(), which is no more: it is tobytes() here" in error
        assert "old.py:8 uses numpy.fromstring() of bytes, which is no more" in error


CHILD = """
import subprocess, sys
import tensorflow as tf
source = "import collections, numpy as np; print(collections.Mapping.__module__, np.float, 'towerstrat' in sys.modules)"
subprocess.run([sys.executable, "-c", "import sys; " + source], check=True)
"""


def test_so_do_its_children(program):
    code, output, error = program(CHILD, options=["--api", "1"])
    assert (code, output) == (0, "collections.abc <class 'float'> False\n"), error
    assert "<string>:1 uses collections.Mapping" in error


def test_a_library_leaves_python_alone():
    source = (
        "import towerstrat.compat.v1, collections as c, time as t; print(hasattr(c, 'Mapping'), hasattr(t, 'clock'))"
    )
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"
    assert not hasattr(collections, "Mapping")


@pytest.mark.parametrize("module", legacy_python.NAMES)
def test_every_name_is_something_here(module):
    for name, target in legacy_python.NAMES[module].items():
        assert legacy_python.resolve(target) is not None, name


def test_stand_ins_are_files():
    assert all(path.is_file() for path in legacy_python.MODULES.values())


def test_functions_of_the_standard_library():
    with pytest.raises(ValueError, match="keyword-only"):
        stdlib_functions.getargspec(lambda *, a: 0)
    with pytest.raises(TypeError):
        stdlib_functions.getargspec(1)
    assert stdlib_functions.formatargspec(["a", "b"], "c", "d", (1,)) == "(a, b=1, *c, **d)"
    assert stdlib_functions.formatargspec(["a"], None, None, None, ["k", "l"], {"k": 2}) == "(a, *, k=2, l)"
    assert stdlib_functions.escape('<a href="b">') == '&lt;a href="b"&gt;'
    assert stdlib_functions.escape('"', quote=True) == "&quot;"
    assert len(stdlib_functions.linux_distribution()) == 3


F4, F8, I1, I4, I8 = (np.dtype(t) for t in ("f4", "f8", "i1", "i4", "i8"))


@pytest.mark.parametrize(
    ("of_arrays", "of_scalars", "wanted"),
    [([I4], [F4], F8), ([F4], [F8], F4), ([F4], [I8], F4), ([], [I4], I4), ([I1, np.float16], [], np.dtype("f2")),
     ([I8], [np.complex64], np.dtype("c16")), ([np.uint8], [I8], I8), ([bool], [I1], I1)],
)  # fmt: skip
def test_common_types_are_those_of_numpy_1_16(of_arrays, of_scalars, wanted):
    assert numpy_names.find_common_type(of_arrays, of_scalars) == wanted


def test_functions_of_numpy(capsys):
    assert numpy_names.find_common_type([], []) is None
    assert (numpy_names.maximum_sctype("f4"), numpy_names.maximum_sctype("i2")) == (np.longdouble, np.int64)
    assert [numpy_names.obj2sctype(v) for v in ("f4", 3, list, np.ones(2), np.int8)] == [
        np.float32, None, np.object_, np.float64, np.int8]  # fmt: skip
    assert [numpy_names.issctype(v) for v in (np.int32, list, np.dtype("str"), "f4")] == [True, False, True, False]
    assert numpy_names.issubsctype("i4", np.integer)
    assert not numpy_names.issubclass_(1, int)
    assert (numpy_names.sctype2char(np.int32), numpy_names.alen(3), numpy_names.alen([1, 2])) == ("i", 1, 2)
    assert [numpy_names.asfarray([1], t).dtype for t in (np.float32, np.int32)] == [np.float32, np.float64]
    assert (numpy_names.nbytes["f8"], numpy_names.nbytes[np.int16]) == (8, 2)
    assert numpy_names.cast["float32"]([1]).dtype == np.float32
    assert numpy_names.asscalar(np.array([3])) == 3
    np.testing.assert_array_equal(numpy_names.in1d([[1, 2], [3, 4]], [2, 3]), [False, True, True, False])
    np.testing.assert_array_equal(numpy_names.msort([[3, 1], [2, 4]]), [[2, 1], [3, 4]])
    np.testing.assert_array_equal(numpy_names.fastCopyAndTranspose([[1, 2]]), [[1], [2]])
    found = numpy_names.recfromcsv(["A,B", "1,2.5", "3,4.5"])
    assert (found.a.tolist(), found.b.tolist()) == ([1, 3], [2.5, 4.5])
    numpy_names.disp("said")
    assert capsys.readouterr().out == "said\n"


def test_versions():
    loose, strict = version.LooseVersion, version.StrictVersion
    assert loose("1.13.0-rc2").version == [1, 13, 0, "-", "rc", 2]
    assert loose("1.9") < loose("1.10") < "1.10.1"
    assert loose("1.4") == "1.4"
    assert str(loose("2.0.0a0")) == "2.0.0a0"
    assert strict("1.0b2") < strict("1.0") == "1.0.0"
    assert [str(strict(v)) for v in ("1.2.0", "1.2.3a1")] == ["1.2", "1.2.3a1"]
    with pytest.raises(ValueError, match="invalid version number '1'"):
        strict("1")


def test_what_programs_used_of_distutils(tmp_path):
    assert [util.strtobool(v) for v in ("Yes", "0")] == [1, 0]
    with pytest.raises(ValueError, match="maybe"):
        util.strtobool("maybe")
    assert spawn.find_executable("no-such-program") is None
    (tmp_path / "from" / "inner").mkdir(parents=True)
    (tmp_path / "from" / "inner" / "file").write_text("text")
    copies = dir_util.copy_tree(str(tmp_path / "from"), str(tmp_path / "to"))
    assert [str(tmp_path / "to" / "inner" / "file")] == copies
    assert dir_util.copy_tree(str(tmp_path / "from"), str(tmp_path / "to"), update=1) == []
    assert dir_util.mkpath(str(tmp_path / "to" / "one" / "two")) == [
        str(tmp_path / "to" / "one"), str(tmp_path / "to" / "one" / "two")]  # fmt: skip
    dir_util.remove_tree(str(tmp_path / "to"))
    assert not (tmp_path / "to").exists()


def test_modules_from_files(tmp_path):
    (tmp_path / "config.txt").write_text("value = 3")
    assert imp.load_source("read_config", str(tmp_path / "config.txt")).value == 3
    (tmp_path / "package_of_old").mkdir()
    (tmp_path / "package_of_old" / "__init__.py").write_text("value = 4")
    (tmp_path / "module_of_old.py").write_text("value = 5")
    for name, value in (("package_of_old", 4), ("module_of_old", 5)):
        file, path, details = imp.find_module(name, [str(tmp_path)])
        try:
            assert imp.load_module(name, file, path, details).value == value
        finally:
            if file is not None:
                file.close()
        del sys.modules[name]
    with pytest.raises(ImportError, match="No module named 'nowhere'"):
        imp.find_module("nowhere", [str(tmp_path)])
    assert (".py", "r", imp.PY_SOURCE) in imp.get_suffixes()
    assert imp.load_module("sys", *imp.find_module("sys")) is sys
    assert imp.reload is importlib.reload
