"""Breaks lines that a longer name has made too long, where the formatter does not: usage: long_lines.py CHECKOUT"""
import os, re, subprocess, sys
os.chdir(sys.argv[1])
for _ in range(3):
    out = subprocess.run(['ruff', 'check', '--select', 'E501', '--output-format', 'concise', '.'], capture_output=True, text=True).stdout
    found = [(m[1], int(m[2])) for m in re.finditer(r'^(\S+?):(\d+):\d+: E501', out, re.M)]
    for path, n in sorted(found, key=lambda x: (x[0], -x[1])):
        L = open(path).read().split('\n'); l = L[n - 1]; ind = l[:len(l) - len(l.lstrip())]; nxt = L[n] if n < len(L) else ''
        s = l.lstrip()
        if re.match(r'f?"(?!"")', s) and not s.startswith('"""') and re.search(r'"[,:]?\s*$', s) and s.count(':') < 3 or re.match(r'f"', s):
            cut = l.rfind(' ', 0, 112); pre = 'f' if s.startswith('f') else ''
            L[n - 1:n] = [l[:cut + 1] + '"', ind + pre + '"' + l[cut + 1:]]
        elif s.startswith('"""') and s.endswith('"""'):
            if l.count('"""') == 2 and '. ' in l:
                a, b = l[:-3].split('. ', 1); L[n - 1:n] = [a + '.', '', ind + b, ind + '"""']
            else:
                print('by hand', path, n); continue
        elif path.endswith('legacy_python/__init__.py') or re.match(r'[\w(`A-Z"]', s) and (nxt.strip() and nxt.startswith(ind) and not nxt.strip().startswith('"""') and '(' not in s.split(' ')[0] and not s.rstrip().endswith((',', '(', '}'))) :
            cut = l.rfind(' ', 0, 120)
            if path.endswith('legacy_python/__init__.py') or s.startswith('"""'): L[n - 1:n] = [l[:cut], ind + l[cut + 1:]]
            else: L[n - 1] = l[:cut]; L[n] = nxt[:len(nxt) - len(nxt.lstrip())] + l[cut + 1:] + ' ' + nxt.lstrip()
        elif s.rstrip().endswith((',', '(', ')')):
            cut = l.rfind(', ', 0, 118); more = '       ' if s.startswith('define_op(') else '    ' if s.startswith(('Case(', '"')) else ''
            L[n - 1:n] = [l[:cut + 1], ind + more + l[cut + 2:]]
        elif nxt.strip() == '"""': cut = l.rfind(' ', 0, 120); L[n - 1:n] = [l[:cut], ind + l[cut + 1:]]
        else: print('by hand', path, n); continue
        open(path, 'w').write('\n'.join(L))
