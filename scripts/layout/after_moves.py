"""By hand after the moves, as a program: names in strings that move.py cannot know. usage: after_moves.py CHECKOUT (once)"""
import re, sys, pathlib, os
os.chdir(sys.argv[1])
def sub(p, *prs):
    if not pathlib.Path(p).exists(): print('absent', p); return
    t = open(p).read()
    for a, b in prs:
        if a not in t: print('NOT', p, a[:60]); continue
        t = t.replace(a, b)
    open(p, 'w').write(t)
sub('towerstrat/compat/names/internals_optimizers.py', ('''        f"contrib.optimizer_v2.{module}": ("", named(f"training.optimizers.v2.{module}", name))''', '''        f"contrib.optimizer_v2.{module}": ("", named(f"training.optimizers.v2.{module}", name))'''))
sub('towerstrat/compat/program/legacy_python/__init__.py', ('=.python.', '=.stdlib_functions.'), ('".hdf5.decodable"', '".h5py_attributes.decodable"'))
sub('towerstrat/compat/program/startup/sitecustomize.py', ('_FOLDER.parent / "since"', '_FOLDER.parent / "legacy_python"'), ('_towerstrat_since', '_towerstrat_legacy_python'), ('_SINCE', '_LEGACY'), ('since =', 'legacy ='), ('since.install', 'legacy.install'))
sub('tests/platform/test_deferred.py', ('("towerstrat.data", "towerstrat.towers", "towerstrat.training")', '("towerstrat.data", "towerstrat.towers", "towerstrat.models", "towerstrat.training")'))
sub('tests/compat/test_namespace.py', ('name.startswith(("towerstrat.graph", "towerstrat.towers", "towerstrat.training"))', 'name.startswith(("towerstrat.graph", "towerstrat.towers", "towerstrat.models", "towerstrat.training"))'))
# aliases of elements move down
T = 'towerstrat/data/elements/types.py'
if not os.path.exists(T):
    open(T, 'w').write('''"""What elements are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = "np.ndarray[Any, Any]"
Element: TypeAlias = "Sequence[Array]"
"""The components of one element, flattened. They are never written to."""
''')
for p in [*pathlib.Path('towerstrat').rglob('*.py'), *pathlib.Path('tests').rglob('*.py')]:
    t = n = p.read_text()
    for mod in ('towerstrat.data.pipeline.nodes', 'towerstrat.data.pipeline.table_rows'):
        def split(m):
            names = [x.strip() for x in m[1].strip('()').replace('\n', ' ').split(',') if x.strip()]
            down = [x for x in names if x in ('Array', 'Element')]; rest = [x for x in names if x not in down]
            if not down: return m[0]
            return '\n'.join(f'from {a} import {", ".join(b)}' for a, b in (('towerstrat.data.elements.types', down), (mod, rest)) if b)
        n = re.sub(rf'^from {re.escape(mod)} import (\([^)]*\)|[^\n]*)', split, n, flags=re.M)
    if str(p).endswith('pipeline/nodes.py'):
        n = n.replace('''Array: TypeAlias = "np.ndarray[Any, Any]"
Element: TypeAlias = "Sequence[Array]"
"""The components of one element, flattened. They are never written to."""

''', '').replace('from typing import Any, ClassVar, TypeAlias', 'from typing import Any, ClassVar').replace('from towerstrat.data.elements.structure', 'from towerstrat.data.elements.types import Array, Element\nfrom towerstrat.data.elements.structure', 1)
    if str(p).endswith('pipeline/table_rows.py'):
        n = n.replace('Array: TypeAlias = "np.ndarray[Any, Any]"\n', '').replace('\nimport numpy as np\n', '\nimport numpy as np\n\nfrom towerstrat.data.elements.types import Array\n', 1)
    if n != t: p.write_text(n)
