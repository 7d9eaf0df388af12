"""The documentation agrees with the code."""

import operator
import pathlib
import re
import subprocess
import sys

import pytest

import towerstrat.compat.v1 as tf1
import towerstrat.compat.v2 as tf
from tests.spread import spread
from towerstrat.compat.names.namespace import Namespace
from towerstrat.compat.names.stubs import MissingName

ROOT = pathlib.Path(__file__).parent.parent


def test_the_list_of_names_is_current():
    code = "import sys; sys.path.insert(0, 'scripts'); import list_names; print(list_names.page(), end='')"
    page = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert (ROOT / "docs" / "names.md").read_text() == page, "run: python scripts/list_names.py"


def test_the_list_of_what_changes_nothing_is_current():
    code = (
        "import sys; sys.path.insert(0, 'scripts'); import list_names; "
        "print(list_names.supported((list_names.DOCS / 'supported.md').read_text()), end='')"
    )
    page = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert (ROOT / "docs" / "supported.md").read_text() == page, "run: python scripts/list_names.py"
    assert "`tf.ConfigProto(allow_soft_placement=...)`" in page


def examples():
    return re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)


def test_the_readmes_example_of_2x_runs():
    _, code, _ = examples()
    environment = {"JAX_PLATFORMS": "cpu", "PATH": ""}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, env=environment)
    loss, first, second = map(float, re.findall(r"[0-9.]+", done.stdout))
    assert loss == pytest.approx(0.0033, abs=2e-4), done.stderr
    assert (first, second) == pytest.approx((0.17926455, 0.37366885), rel=1e-4)


@spread(("devices", "expected"), [(8, list(range(55, 63))), (1, [6])], every=2)
def test_the_readmes_library_example_runs(devices, expected):
    code = f"import jax; jax.config.update('jax_num_cpu_devices', {devices})\n{examples()[0]}"
    environment = {"JAX_PLATFORMS": "cpu", "PATH": ""}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, env=environment)
    assert done.stdout.replace("np.int32(", "").replace(")", "") == f"{expected}\n", done.stderr


@spread("devices", [3, 1], every=2)
def test_the_readmes_distributed_example_runs(devices, tmp_path):
    code = f"import jax; jax.config.update('jax_num_cpu_devices', {devices})\n{examples()[2]}"
    program = tmp_path / "program.py"
    program.write_text(code)
    environment = {"JAX_PLATFORMS": "cpu", "PATH": "", "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, program], cwd=ROOT, capture_output=True, text=True, env=environment)
    assert done.stdout == "45.0\n", done.stderr


def test_what_the_readme_says_runs_is_there_and_the_rest_is_not():
    (table,) = re.findall(r"\n\| \| runs \| not yet \|\n(.*?)\n\n", (ROOT / "README.md").read_text(), re.DOTALL)
    rows = [row.split(" | ") for row in table.splitlines()[1:]]
    runs, lacks = ({name for row in rows for name in re.findall(r"`(tf\.[\w.]+)`", row[i])} for i in (1, 2))
    for name in runs:
        assert any(there(api, name) for api in (tf1, tf)), name
    for name in lacks:
        assert not any(there(api, name) for api in (tf1, tf)), name
    assert len(runs) > 20
    assert len(lacks) > 5


def there(api, name):
    try:
        value = operator.attrgetter(name.removeprefix("tf."))(api)
    except AttributeError:
        return False
    return not isinstance(value, MissingName) and (not isinstance(value, Namespace) or bool(dir(value)))


def test_links_in_the_documentation_lead_somewhere():
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), f"{page.name}: {target}"


def listed_members():
    """Class or namespace -> the members that the page of distribute lists."""
    found = {}
    for section in (ROOT / "docs" / "distribute.md").read_text().split("\n## ")[1:]:
        text, _, table = section.partition("| member |")
        rows = [row.split("|")[1] for row in table.splitlines()[2:] if row.startswith("|")]
        members = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
        for owner in re.findall(r"`(tf\.[\w.]+)`", text):
            found.setdefault(owner, set()).update(members)
    return found


def test_the_page_of_distribute_lists_the_members():
    listed = listed_members()
    assert len(listed) == 14
    for name, members in listed.items():
        owner = operator.attrgetter(name.removeprefix("tf."))(tf)
        has = {member for member in dir(owner) if not member.startswith("_")}
        assert members == has if isinstance(owner, type) else members <= has, name
    default = {member for member in dir(tf.distribute.get_strategy()) if not member.startswith("_")}
    assert default == listed["tf.distribute.Strategy"]
