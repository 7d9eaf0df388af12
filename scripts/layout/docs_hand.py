import os, sys
os.chdir(sys.argv[1])
def sub(p, *prs):
    t = open(p).read()
    for a, b in prs:
        if a not in t: print('NOT', p, a[:60])
        t = t.replace(a, b)
    open(p, 'w').write(t)
sub('docs/design.md',
('| `training/` | layers, losses, metrics, optimizers |', '| `models/` | what models are made of: layers, recurrent networks, losses, metrics, distributions |\n| `training/` | optimizers, saving, summaries, hooks, sessions |'),
('| `ops` | operation types and public functions, by domain |', '| `ops` | operation types and public functions, a room for each domain: `building`, then `array`, `math`, ... `images` |'),
('| `runtime` | plans, device programs and their cache, step loops, loops over data, sessions |', '| `runtime` | `programs` and their cache, `plans`, `loops` of steps and over data, what is `collective`, `sessions` |'),
('| room of `towers/`, in order | what is in it |', '''| room of `data/`, in order | what is in it |
|---|---|
| `elements` | structures of elements, and values that consist of several arrays |
| `parsing` | records as tensors: `tf.Example`, CSV, features |
| `pipeline` | nodes, iterators over their elements, states of these |
| `iterators`, `files` | iterators of sessions and of Python; elements in files |
| `api` | `Dataset` as programs write it |
| `readers`, `queues` | datasets of files and databases; queues and their runners |

| room of `towers/`, in order | what is in it |'''),
('| `era` | the strategies', '| `contrib_late` | the strategies'),
('| `v1names`, `v2names` |', '| `v1_functions`, `v2_functions` |'), ('| `wheel` |', '| `bundled` |'),
('`restoring.py` walks', '`object_restore.py` walks'), ('`mirrored.py`). `MirroredStrategy`', '`mirrored_engine.py`). `MirroredStrategy`'), ('(`shared_creators.py`)', '(`shared_variable_creators.py`)'))
sub('CONTRIBUTING.md', ('one `define(type, rule, kernel, ...)`', 'one `define_op(type, rule, kernel, ...)`'), ('of `UNARY` or `BINARY` in `elementwise.py`', 'of `UNARY` or `BINARY` in `math/elementwise.py`'),
('where its kin are (`math.py`, `nn.py`, `array.py`; element-wise ones are a line of `math.py`)', 'where its kin are (`math/arithmetic.py`, `nn/misc.py`, `array/arrays.py`; element-wise ones are a line of `math/arithmetic.py`)'),
('(`towers.py`) does it', '(`spmd_engine.py`) does it'), ('(`one_tower.py`)', '(`single_tower_engine.py`)'))
