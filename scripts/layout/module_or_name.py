"""Lists names that a file imports as a module and uses as something else (called, or never with an attribute)."""
import ast, pathlib
for p in [q for d in ('towerstrat', 'tests', 'benchmarks', 'scripts', 'examples') for q in pathlib.Path(d).rglob('*.py')]:
    tree = ast.parse(p.read_text())
    attr = {n.value.id for n in ast.walk(tree) if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name)}
    for n in ast.walk(tree):
        if isinstance(n, ast.ImportFrom) and n.module and n.module.startswith(('towerstrat', 'tests')):
            for a in n.names:
                path = pathlib.Path(n.module.replace('.', '/')) / a.name
                if (path.with_suffix('.py').exists() or path.is_dir()) and (a.asname or a.name) not in attr:
                    print(p, n.lineno, n.module, a.name)
