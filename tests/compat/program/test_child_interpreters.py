"""Processes that a program starts see the ``tensorflow`` that it sees; others go on as ever."""

import sys

import pytest

from tests.spread import spread

POOL = """
import multiprocessing, sys
import tensorflow as tf

def work(k):
    import jax
    return float(tf.Session().run(tf.constant(2.0) * k)), tf.__version__, jax.local_device_count()

def fails(k):
    raise tf.errors.NotFoundError(None, None, f"no {k}")

if __name__ == "__main__":
    with multiprocessing.get_context(sys.argv[1]).Pool(1) as pool:
        print(pool.map(work, [1, 2]))
        try:
            pool.map(fails, [3])
        except tf.errors.NotFoundError as error:
            print(error)
"""


@spread("method", ["spawn", "forkserver"], every=2)
def test_workers_of_a_pool(program, method):
    found = program(POOL, method, options=["--towers", "2"])
    assert found == (0, "[(2.0, '1.12.3', 2), (4.0, '1.12.3', 2)]\nno 3\n", "")


SUBPROCESS = """
import subprocess, sys
import tensorflow as tf

def python(source, executable=sys.executable):
    done = subprocess.run([executable, "-c", source], capture_output=True, text=True)
    print(done.stdout.strip() or done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0 or executable != sys.executable, done.stderr

python("import tensorflow.compat.v1 as v1, tensorflow as tf; "
       "print(v1.__name__, tf.__version__, tf.executing_eagerly())")
python("import subprocess, sys; subprocess.run([sys.executable, '-c', 'import tensorflow as tf; print(tf.__name__)'])")
python("import sys; print('towerstrat' in sys.modules, [p for p in sys.path if 'startup' in p])")
"""


@spread(("api", "version"), [("1", "tensorflow 1.12.3 False"), ("2", "tensorflow.compat.v1 2.15.1 True")], every=2)
def test_a_subprocess_of_the_same_python(program, api, version):
    code, output, error = program(SUBPROCESS, options=["--api", api])
    assert (code, output) == (0, f"{version}\ntensorflow\nFalse []\n"), error


OTHER = """
import subprocess, sys, venv
import tensorflow as tf
venv.create("other", with_pip=False)
source = "import sys; print(sys.meta_path[0].__name__, 'startup' in str(sys.path)); import tensorflow"
done = subprocess.run(["other/bin/python", "-c", source], capture_output=True, text=True)
print(done.stdout, done.stderr.splitlines()[-1])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="the layout of a virtual environment")
def test_another_python_has_no_tensorflow(program):
    code, output, _ = program(OTHER)
    assert (code, output) == (0, "BuiltinImporter False\n ModuleNotFoundError: No module named 'tensorflow'\n")


HIDDEN = """
import os, subprocess, sys
import tensorflow as tf
os.makedirs("mine")
open("mine/sitecustomize.py", "w").write("import builtins; builtins.mine = 'mine'")
os.environ["PYTHONPATH"] += os.pathsep + os.path.abspath("mine")
source = "import sitecustomize, tensorflow; print(mine, sitecustomize.__file__)"
print(subprocess.check_output([sys.executable, "-c", source], text=True))
"""


def test_a_sitecustomize_of_the_users_own_runs_too(program, tmp_path):
    code, output, _ = program(HIDDEN)
    assert (code, output.split()) == (0, ["mine", str(tmp_path / "mine" / "sitecustomize.py")])
