import importlib, pathlib, sys, traceback
root = pathlib.Path('towerstrat'); bad = 0; n = 0
for p in sorted(root.rglob('*.py')):
    name = '.'.join(p.with_suffix('').parts).removesuffix('.__init__')
    if name.endswith('__main__') or 'startup' in name or 'stdlib' in name or 'former' in name: continue
    n += 1
    try: importlib.import_module(name)
    except Exception as e: bad += 1; print(name, type(e).__name__, e)
print(n, 'modules', bad, 'fail')
