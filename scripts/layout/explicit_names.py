"""Old layout, once: `changing` tuples -> {key in a state: attribute}; `kind = "NAME"` in each class of pipeline parts."""
import ast, pathlib, re, subprocess, sys
root = pathlib.Path(sys.argv[1])
PARTS = {tuple(l.split()[:2]) for l in subprocess.run([sys.executable, __file__.replace('explicit_names', 'list_parts')], capture_output=True, text=True, cwd=root, env={**__import__('os').environ, 'PYTHONPATH': str(root)}, check=True).stdout.splitlines() if l.startswith('towerstrat')}
for p in sorted((root / 'towerstrat').rglob('*.py')):
    t = p.read_text(); lines = t.split('\n'); edits = []
    mod = '.'.join(p.relative_to(root).with_suffix('').parts)
    for node in ast.walk(ast.parse(t)):
        if not isinstance(node, ast.ClassDef): continue
        if (mod, node.name) in PARTS and node.name not in ('Part', 'Node', 'OfFunction', 'Reordering', 'Recipe', '_Observed'):
            first = node.body[0]
            if isinstance(first, ast.Expr):
                nxt = node.body[1]
                plain = isinstance(nxt, ast.Assign | ast.AnnAssign)
                edits.append((first.end_lineno, ['', f'    kind = "{node.name}"'] ))
            else:
                edits.append((first.lineno - 1, [f'    kind = "{node.name}"', '']))
        for s in node.body:
            if isinstance(s, ast.Assign) and getattr(s.targets[0], 'id', '') == 'changing' and isinstance(s.value, ast.Tuple):
                names = [e.value for e in s.value.elts]
                lines[s.lineno - 1] = '    changing = {' + ', '.join(f'"{n}": "{n}"' for n in names) + '}'
                assert s.lineno == s.end_lineno
    for at, new in sorted(edits, reverse=True): lines[at:at] = new
    n = '\n'.join(lines)
    if n != t: p.write_text(n)
