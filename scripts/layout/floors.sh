#!/bin/bash
# floors.sh CHECKOUT: one commit a floor
cd $1 || exit 1
for f in platform hosts checkpoints graph data towers models training compat; do
  python scripts/layout/move.py . $f > scripts/layout/log.$f 2>&1 || { cat scripts/layout/log.$f; exit 1; }
  scripts/layout/tidy.sh . >> scripts/layout/log.$f
  [ -n "$IMPORTS" ] && PYTHONPATH=$PWD JAX_PLATFORMS=cpu python scripts/layout/import_all.py | tail -3 > scripts/layout/imports.$f
  git add -A
  git diff --cached --quiet || git commit -qm "The floor $f: its files get their rooms and names

Made by a program: files move, and imports, strings and documents follow; nothing else is changed."
  echo $f $(head -1 scripts/layout/log.$f) $(tail -1 scripts/layout/imports.$f)
done
