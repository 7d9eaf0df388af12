"""Applies moves.tsv to a checkout: git mv, imports, dotted strings, rows of tables, paths in documents.

usage: move.py CHECKOUT [FLOOR ...]     FLOOR: a folder of towerstrat/ (or of tests/) whose files move; none: all.

It may run again on a tree that is moved already, or partly: files that are at their new place stay there, old names of
modules in what was added since are rewritten. Files that move are those of moves.tsv beside this script.
"""
import ast, collections, pathlib, re, subprocess, sys

root = pathlib.Path(sys.argv[1]).resolve()
floors_asked = set(sys.argv[2:])
HERE = pathlib.Path(__file__).parent
ALL = dict(l.split('\t')[:2] for l in (HERE / 'moves.tsv').read_text().splitlines())
def floor(old, new):
    """The floor of a move: models are one of their own, tests go with what they mirror."""
    return new.split('/')[1] if new.split('/')[1] == 'models' else old.split('/')[1]
moves = {o: n for o, n in ALL.items() if not floors_asked or floor(o, n) in floors_asked}
dot = lambda p: p.removesuffix('.py').replace('/', '.').removesuffix('.__init__')
M = {dot(o): dot(n) for o, n in moves.items()}
def skip(p): return any(q.startswith('.') for q in p.relative_to(root).parts) or 'golden/data' in str(p)
py = sorted(p for p in root.rglob('*.py') if not skip(p))
present = {dot(str(p.relative_to(root))) for p in py}
allmods = present | set(M) | set(M.values()) | {dot(n) for n in ALL.values() if (root / n).exists()}
report = []

def names_in(tree):
    bound, loads, fstr = collections.Counter(), collections.defaultdict(list), set()
    for n in ast.walk(tree):
        if isinstance(n, ast.Name):
            if isinstance(n.ctx, ast.Load): loads[n.id].append(n)
            else: bound[n.id] += 1
        elif isinstance(n, ast.arg): bound[n.arg] += 1
        elif isinstance(n, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef): bound[n.name] += 1
        elif isinstance(n, ast.Import | ast.ImportFrom):
            for a in n.names: bound[(a.asname or a.name).split('.')[0]] += 1
        elif isinstance(n, ast.ExceptHandler) and n.name: bound[n.name] += 1
        elif isinstance(n, ast.JoinedStr): fstr |= {x.id for x in ast.walk(n) if isinstance(x, ast.Name)}
        elif isinstance(n, ast.Global | ast.Nonlocal): bound.update(n.names)
    return bound, loads, fstr

def line_of(ind, mod, names, comment):
    body = ', '.join(n if not s or s == n else f'{n} as {s}' for n, s in names)
    one = f'{ind}from {mod} import {body}'
    if len(one + comment) <= 120: return one + comment
    return f'{ind}from {mod} import ({comment}\n' + ''.join(f'{ind}    {n if not s or s == n else f"{n} as {s}"},\n' for n, s in names) + f'{ind})'

def rewrite(text, path):
    tree = ast.parse(text); lines = text.split('\n'); edits = []; renames = []
    bound, loads, fstr = names_in(tree)
    called = {n.func.id for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
    own_package = str(path.relative_to(root)).startswith('towerstrat')
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split('.')[0] in ('towerstrat', 'tests') and not node.level:
            groups = {}
            for a in node.names:
                full = f'{node.module}.{a.name}'
                # A module in a new folder may be called as a function of the old module of that name is.
                if full in allmods and (full in present or a.name not in called | {'iterator_resource'}):
                    new = M.get(full, full); mod, _, last = new.rpartition('.')
                    asname = a.asname
                    if last != a.name and not asname:
                        free = bound[a.name] == 1 and not bound[last] and not loads[last] and a.name not in fstr
                        exported = own_package and path.name == '__init__.py'
                        if free and not exported: renames.append((a.name, last)); bound[last] += 1
                        else: asname = a.name
                    groups.setdefault(mod, []).append((last, asname))
                else:
                    groups.setdefault(M.get(node.module, node.module), []).append((a.name, a.asname))
            if list(groups) == [node.module] and all(n == a.name and s == a.asname for (n, s), a in zip(groups[node.module], node.names)): continue
            comments = [m.group(0) for l in lines[node.lineno - 1:node.end_lineno] if (m := re.search(r'  # .*$', l))]
            if len(comments) > 1: report.append(f'{path}:{node.lineno}: {len(comments)} comments in an import')
            comment = comments[0] if comments else ''
            rest = lines[node.end_lineno - 1][node.end_col_offset:]
            if rest.strip() and not rest.strip().startswith('#'): report.append(f'{path}:{node.lineno}: more on the line: {rest}'); comment = rest
            ind = ' ' * node.col_offset
            edits.append((node.lineno, node.end_lineno, '\n'.join(line_of(ind, mod, names, comment) for mod, names in groups.items())))
        elif isinstance(node, ast.Import):
            for a in node.names:
                if a.name in M: edits.append((node.lineno, node.end_lineno, lines[node.lineno-1].replace(a.name, M[a.name])))
    shown = [e for n in tree.body if isinstance(n, ast.Assign) and getattr(n.targets[0], 'id', '') == '__all__' and isinstance(n.value, ast.List | ast.Tuple) for e in n.value.elts]
    for e in shown:
        for old, new in renames:
            if e.value == old: lines[e.lineno - 1] = lines[e.lineno - 1].replace(f'"{old}"', f'"{new}"')
    spots = [(n.lineno, n.col_offset, old, new) for old, new in renames for n in loads[old]]
    for line, col, old, new in sorted(spots, reverse=True):
        b = lines[line - 1].encode(); assert b[col:col + len(old)] == old.encode(), (path, line, old)
        lines[line - 1] = (b[:col] + new.encode() + b[col + len(old):]).decode()
    for s, e, new in sorted(edits, reverse=True): lines[s - 1:e] = [new]
    return '\n'.join(lines)

dotted = re.compile(r'\b(towerstrat|tests)((?:\.\w+)+)')
short = {k.removeprefix('towerstrat.'): v.removeprefix('towerstrat.') for k, v in M.items() if k.startswith('towerstrat.')}
floors = sorted({k.split('.')[0] for k in short})
def dots(m):
    parts = m.group(0).split('.')
    for i in range(len(parts), 1, -1):
        k = '.'.join(parts[:i])
        if k in M and not (i < len(parts) and any('.'.join([k, parts[i]]) == v or v.startswith('.'.join([k, parts[i]]) + '.') for v in M.values())):
            return '.'.join([M[k], *parts[i:]])
        if k in allmods: break
    return m.group(0)
prefixes = {}
for o, n in moves.items():
    if o.startswith('towerstrat/'):
        a, b = (str(pathlib.PurePath(p).parent).replace('/', '.').removeprefix('towerstrat.') for p in (o, n))
        prefixes.setdefault(a, set()).add(b)
prefixes = {a: next(iter(b)) for a, b in prefixes.items() if len(b) == 1 and {a} != b}
prefpat = re.compile(r'"(' + '|'.join(map(re.escape, sorted(prefixes, key=len, reverse=True))) + r')\."') if prefixes else None
rowpat = re.compile(r'"((?:' + '|'.join(floors) + r')(?:\.\w+)+)"') if floors else None
folders = collections.defaultdict(set)
for o, n in ALL.items():
    folders[str(pathlib.PurePath(o).parent)].add(str(pathlib.PurePath(n).parent))
pathpat = re.compile(r'\b((?:towerstrat/|tests/)?(?:\w+/)+\w+)\.py\b')
def paths(m):
    p = m.group(0)
    if p in moves: return moves[p]
    q = 'towerstrat/' + p
    return moves[q].removeprefix('towerstrat/') if q in moves else p
bare = re.compile(r'`((?:towerstrat/)?(?:' + '|'.join(floors or ['-']) + r')(?:/\w+)+)`')
def bare_path(m):
    p = m.group(1); q = p if p.startswith('towerstrat/') else 'towerstrat/' + p
    return f"`{moves[q + '.py'].removesuffix('.py').removeprefix('' if q == p else 'towerstrat/')}`" if q + '.py' in moves else m.group(0)
instr = re.compile(r'from ((?:towerstrat|tests)(?:\.\w+)*) import (\w+)( as \w+)?(?=$|[";\\])')
def in_string(l):
    m = instr.search(l)
    if m and f'{m[1]}.{m[2]}' in M:
        mod, _, last = M[f'{m[1]}.{m[2]}'].rpartition('.')
        return l[:m.start()] + f'from {mod} import {last}' + (m[3] or (f' as {m[2]}' if last != m[2] else '')) + l[m.end():]
    l = dotted.sub(dots, l)
    if rowpat: l = rowpat.sub(lambda m: f'"{short.get(m.group(1), m.group(1))}"', l)
    if prefpat: l = prefpat.sub(lambda m: f'"{prefixes[m.group(1)]}."', l)
    return l

touched = []
new_of = {**{o: n for o, n in moves.items()}}
for p in py:
    t = p.read_text()
    try: n = rewrite(t, p)
    except SyntaxError: report.append(f'{p}: no Python'); continue
    own = {i for node in ast.walk(ast.parse(n)) if isinstance(node, ast.Import | ast.ImportFrom) for i in range(node.lineno, node.end_lineno + 1)}
    n = '\n'.join(l if i in own else pathpat.sub(paths, in_string(l)) for i, l in enumerate(n.split('\n'), 1))
    rel = str(p.relative_to(root)); to = moves.get(rel, rel)
    deeper = to.count('/') - rel.count('/')
    if deeper: n = re.sub(r'(__file__\)(?:\.resolve\(\))?\.parents\[)(\d+)\]', lambda m: f'{m[1]}{int(m[2]) + deeper}]', n)
    if n != t: p.write_text(n); touched.append(to)
for p in [*root.rglob('*.md'), *root.rglob('*.toml'), *(q for q in (root / 'towerstrat').rglob('*.tsv')), *(q for q in (root / 'scripts').rglob('*') if q.is_file() and not q.suffix)]:
    if skip(p): continue
    try: t = p.read_text()
    except UnicodeDecodeError: continue
    if p.suffix == '.tsv': n = '\n'.join('\t'.join(short.get(f, f) for f in l.split('\t')) for l in t.split('\n'))
    else: n = bare.sub(bare_path, pathpat.sub(paths, dotted.sub(dots, t)))
    if n != t: p.write_text(n)
tmp = []
for i, (o, n) in enumerate(moves.items()):
    if (root / o).exists():
        if (root / n).exists() and n not in moves:
            # A file that others changed at its old place while it is at its new one: git says so when it merges.
            report.append(f'{o} is there besides {n}'); continue
        (root / n).parent.mkdir(parents=True, exist_ok=True)
        t = f'towerstrat/__moving_{i}'; subprocess.run(['git', 'mv', o, t], cwd=root, check=True); tmp.append((t, n))
for t, n in tmp:
    if (root / n).exists(): sys.exit(f'{n} is there already')
    subprocess.run(['git', 'mv', t, n], cwd=root, check=True)
ROOM_DOCS = dict(l.split('\t') for l in (HERE / 'rooms.tsv').read_text().splitlines()) if (HERE / 'rooms.tsv').exists() else {}
for d in sorted({str(pathlib.PurePath(n).parent) for n in moves.values()}):
    q = root / d
    while q != root and q.relative_to(root).parts[0] in ('towerstrat', 'tests') and (root / d).exists():
        i = q / '__init__.py'; rel = str(q.relative_to(root))
        if not i.exists():
            doc = ROOM_DOCS.get(rel)
            i.write_text(f'"""{doc}"""\n' if doc else ''); subprocess.run(['git', 'add', str(i)], cwd=root)
            if rel.startswith('towerstrat') and not doc: report.append(f'{rel} needs a line in rooms.tsv')
        q = q.parent
for d in sorted({str(pathlib.PurePath(o).parent) for o in moves}, key=len, reverse=True):
    q = root / d
    if q.exists() and not any(x.suffix == '.py' and x.name != '__init__.py' or x.is_dir() and x.name != '__pycache__' for x in q.iterdir()):
        i = q / '__init__.py'
        if i.exists() and str(i.relative_to(root)) not in moves.values(): subprocess.run(['git', 'rm', '-qf', str(i.relative_to(root))], cwd=root)
print('rewritten', len(touched), 'moved', len(tmp)); print(*report, sep='\n')
