"""Writes docs/names.md, every name of the two namespaces by module, and the list of those that change nothing in
docs/supported.md. Run it after the file of names has changed."""

import collections
import pathlib
import re

from towerstrat.compat.names import ignored_arguments, name_file, public_names
from towerstrat.compat.names.lazy_names import LazyName

DOCS = pathlib.Path(__file__).parent.parent / "docs"
LIST = re.compile(r"(<!-- made by scripts/list_names.py -->\n).*?(<!-- end -->)", re.DOTALL)

HEAD = """# Names

Made by `python scripts/list_names.py`. Arguments and defaults are the originals'; another public name of theirs
raises an error that says what is near.

## Two namespaces, one set of functions

`towerstrat.compat.v1` has the names of TensorFlow 1.12 and {later} that 1.13 to 1.15 added, `towerstrat.compat.v2`
those of 2.15: {first} and {second} names. {kept} names of 2.x are the very objects of 1.x, since their arguments
agree; the others take the arguments of 2.x and call the same implementation. Classes are shared: `isinstance` holds
across. `tf.compat.v1` and `tf.compat.v2` reach the other one.

A function of 1.12 also takes what 1.13 to 1.15 added to its arguments, or gave a new name: `tf.gather(batch_dims=)`,
`tf.nn.conv2d(filters=)`, `tf.gradients(unconnected_gradients=)`. An old and a new name together are an error.

## Which one `import tensorflow` means

`towerstrat run` binds `tensorflow` once per program. It reads the program and its own modules (next to it, or in
its package, as far as they are imported) without running them, and says what it found in one line on standard
error:

    towerstrat: 1.x names (train.py:12 uses tf.placeholder)

- A name or keyword that 1.x alone has (`tf.Session`, `tf.contrib`, `tf.layers`, `keep_dims=`) means 1.
- A name that 2.x alone has (`tf.random.set_seed`, `tf.optimizers`) means 2. Both in one file are an error that
  names the two lines. The program's own files count before the modules that they import.
- What came with 1.13 to 1.15 and stayed (`tf.function`, `tf.distribute`, `tf.compat.v1`; also `tf.GradientTape`; the
  keyword of `tf.gather(batch_dims=)`) means 2, unless something means 1.
- `import tensorflow.compat.v1 as tf` alone means 2, where it runs eagerly until `tf.disable_v2_behavior()`, but 1
  if the program uses placeholders or sessions and neither disables anything nor makes its graphs itself.
- `enable_v2_behavior`, of `tf.compat.v1` or `tf.compat.v2`, means 1: programs of 1.13 to 1.15 run as 2.x does by it.
- What is tried (`try: ... except ImportError`, `AttributeError`) does not count. No evidence means 1.

Installed packages are not read, unless the program starts in one (`-m PACKAGE.MODULE`); of `-m pytest test_model.py`
the file is.

`tf.__version__` is one that the program accepts: what it asserts of it holds, and its branches on it lead to names that
are here. Otherwise it is 1.12.3, 1.15.5 where the program uses what 1.13 to 1.15 added, and 2.15.1 under 2.x.

`--api 1` and `--api 2` overrule, and `--api 1.14` says the version too. Under 1 programs run as graphs, under 2
eagerly; sizes of shapes are integers there, and `==` compares elements. `tf.enable_eager_execution`,
`tf.disable_v2_behavior` and their kin of `tf.compat.v1` change that before the first operation. `import
towerstrat.compat.v2 as tf` gives the names alone: call `tf.compat.v1.enable_v2_behavior()` to run eagerly.
"""


def page() -> str:
    """The page's text."""
    tables = {api: [n for n in public_names.names(api) if "__" not in n] for api in (1, 2)}
    later = sum(row.first != "1.12" for row in name_file.public(name_file.OURS, 1))
    objects = {found for found in public_names.entries(1).values() if isinstance(found, LazyName)}
    kept = sum(public_names.entries(2)[name] in objects for name in tables[2])
    lines = [HEAD.format(first=len(tables[1]), second=len(tables[2]), kept=kept, later=later)]
    for api, found in tables.items():
        by_module = collections.defaultdict(list)
        for name in found:
            module, _, last = name.rpartition(".")
            by_module[module].append(last)
        lines += [f"## The names of {api}.x", ""]
        for module in sorted(by_module):
            entries = ", ".join(f"`{n}`" for n in sorted(by_module[module], key=str.lower))
            lines += [f"### `{module}`", "", entries, ""]
    return "\n".join(lines)


def supported(text: str) -> str:
    """The page of what is supported, with its list of what changes nothing made anew."""
    rows = collections.defaultdict(list)
    for name, value in (public_names.names(2) | public_names.names(1)).items():
        reason = ignored_arguments.reason(value)
        if reason is not None:
            rows[reason].append(name)
        if isinstance(value, type) and value in ignored_arguments.FIELDS:
            for field, why in ignored_arguments.FIELDS[value].items():
                rows[why].append(f"{name}({field}=...)")
    lines = ["| name | changes nothing, because |", "|---|---|"]
    for reason, names in sorted(rows.items(), key=lambda row: row[1]):
        lines.append(f"| {', '.join(f'`{name}`' for name in names)} | {reason.replace('``', '`')} |")
    return LIST.sub(lambda found: "\n".join([found[1] + "", *lines, found[2]]), text)


if __name__ == "__main__":
    (DOCS / "names.md").write_text(page())
    (DOCS / "supported.md").write_text(supported((DOCS / "supported.md").read_text()))
