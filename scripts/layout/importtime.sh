#!/bin/bash
# importtime.sh CHECKOUT: wall and CPU of `import towerstrat.compat.v1`, 7 rounds
cd $1; export PYTHONPATH=$PWD JAX_PLATFORMS=cpu
for i in 1 2 3 4 5 6 7; do python -c "
import time; w=time.perf_counter(); c=time.process_time()
import towerstrat.compat.v1
import sys
print(f'{time.perf_counter()-w:.3f} {time.process_time()-c:.3f} {sum(m.startswith(\"towerstrat\") for m in sys.modules)}')"; done | sort -k2 | head -3
