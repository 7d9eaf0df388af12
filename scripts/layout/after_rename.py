"""By hand after rename.py, as a program: three files with a local ``one``, two long docstrings. usage: after_rename.py CHECKOUT"""
import os, re, sys
os.chdir(sys.argv[1])
def sub(p, *prs):
    t = open(p).read()
    for a, b in prs:
        if not re.search(a, t): print('NOT', p, a)
        t = re.sub(a, b, t)
    open(p, 'w').write(t)
imp = (r'(import .*)\bone\b', r'\1add_op')
call = (r'\bone\((?=\n|")', 'add_op(')
sub('towerstrat/graph/ops/control/branches.py', imp, call)
sub('towerstrat/graph/ops/nn/activations.py', imp, call, (r'half, one = ', 'half, unit = '), (r'\(one \+ np\.tanh', '(unit + np.tanh'))
sub('towerstrat/graph/ops/random/stateless.py', imp, call)
sub('towerstrat/data/pipeline/nodes.py', (r'nodes describe it, pulls produce elements, an ``IteratorContext`` is one pass over it\.', 'nodes describe it, iterators give elements, an ``IteratorContext`` is one pass.'))
sub('towerstrat/graph/lowering/shard_classes.py', (r'as one varying array of the largest shape: at each position its kind', 'as one varying array of the largest shape: at each index its kind'))
import pathlib
p = 'towerstrat/graph/lowering/lowering.py'; t = open(p).read()
a = t.index('Pullback = Callable['); b = t.index('_NOT_CONCRETE = ')
part = t[a:b]
open('towerstrat/graph/lowering/executor.py', 'w').write('''"""What runs operations one by one, and gives their gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from towerstrat.graph.ir.graph_elements import Operation
from towerstrat.graph.ir.types import Array

''' + part.rstrip() + '\n')
t = t[:a] + t[b:]
t = t.replace('from typing import Any, Protocol\n', 'from typing import Any\n').replace('from towerstrat.graph.lowering.gradient_formulas import', 'from towerstrat.graph.lowering.executor import Executor, Pullback\nfrom towerstrat.graph.lowering.gradient_formulas import', 1)
open(p, 'w').write(t)
for q in [*pathlib.Path('towerstrat').rglob('*.py'), *pathlib.Path('tests').rglob('*.py')]:
    s = q.read_text()
    def split(m):
        names = [x.strip() for x in m[1].strip('()').replace('\n', ' ').split(',') if x.strip()]
        down = [x for x in names if x in ('Pullback', 'Executor')]; rest = [x for x in names if x not in down]
        if not down: return m[0]
        return '\n'.join(f'from towerstrat.graph.lowering.{f} import {", ".join(n)}' for f, n in (('executor', down), ('lowering', rest)) if n)
    n = re.sub(r'^from towerstrat\.graph\.lowering\.lowering import (\([^)]*\)|[^\n]*)', split, s, flags=re.M)
    if n != s: q.write_text(n)
sub('tests/data/pipeline/test_shuffling.py', (r'changing = \("place",\)', 'changing = {"place": "place"}'), (r'    structure = Structure\(\(None, None\), \[int64, string\]', '    kind = "Numbered"\n    structure = Structure((None, None), [int64, string]'))
