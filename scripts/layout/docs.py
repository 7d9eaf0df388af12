"""Documents after the moves: paths from a room on (`ir/parts.py`), and names of words.tsv in backticks. usage: docs.py CHECKOUT (again and again)"""
import os, pathlib, re, sys
here = pathlib.Path(__file__).parent; os.chdir(sys.argv[1])
mv = dict(l.split('\t') for l in (here / 'moves.tsv').read_text().splitlines())
def new_path(m):
    p = m[1]; py = p if p.endswith('.py') else p + '.py'
    hits = [(o, n) for o, n in mv.items() if o.startswith('towerstrat/') and o.endswith('/' + py)]
    if len(hits) != 1 or any(n.endswith('/' + py) for n in mv.values()): return m[0]
    o, n = hits[0]
    short = '/'.join(n.split('/')[len(o.split('/')) - len(py.split('/')):])
    return '`' + (short if p.endswith('.py') else short.removesuffix('.py')) + '`'
rows = [l.split('\t') for l in (here / 'words.tsv').read_text().splitlines()[1:]]
words = {r[0].split('.')[-1]: r[3] for r in rows if r[1] in ('class', 'constant') and '.' in r[0] and r[0].split('.')[-1] not in ('Corner', 'Named', 'Place', 'Rows', 'Word')}
for p in ['CONTRIBUTING.md', *map(str, pathlib.Path('docs').rglob('*.md'))]:
    t = pathlib.Path(p).read_text()
    n = re.sub(r'`((?:[a-z_0-9]+/)+[a-z_0-9]+(?:\.py)?)`', new_path, t)
    n = re.sub(r'`(\w+)`', lambda m: f'`{words[m[1]]}`' if m[1] in words else m[0], n)
    n = n.replace('compat/v1names/', 'compat/v1_functions/').replace('compat/v2names/', 'compat/v2_functions/')
    if n != t: pathlib.Path(p).write_text(n); print(p)
