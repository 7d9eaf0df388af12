"""By hand: names in strings of tests, doctests and docstrings. usage: after_tests2.py CHECKOUT (once)"""
import os, re, sys
os.chdir(sys.argv[1])
def sub(p, *prs):
    t = open(p).read()
    for a, b in prs:
        if a not in t: print('NOT', p, a)
        t = t.replace(a, b)
    open(p, 'w').write(t)
sub('tests/training/saving/test_together.py', ('PEERS', 'PROCESSES'))
sub('tests/hosts/test_launchers.py', ('PEERS', 'PROCESSES'))
sub('tests/hosts/test_starting.py', ('PEERS', 'PROCESSES'))
sub('towerstrat/hosts/shared_seeds.py', ('PEERS', 'PROCESSES'))
sub('towerstrat/graph/ir/uneven_shards.py', ('>>> Uneven.of', '>>> UnevenShards.of'))
sub('tests/towers/engine/test_input_budget.py', ('"StepsProgram"', '"StepLoopProgram"'))
sub('tests/compat/test_runner.py', ('"ir", "core.py"', '"ir", "graph.py"'))
sub('tests/hosts/test_imports.py', ('("joining", "exchange", "meeting", "talks", "randomness", "__main__")', '("process_group", "consensus", "gradient_rendezvous", "channels", "shared_seeds", "__main__")'))
sub('tests/compat/test_runner.py', ('runner.children', 'runner.child_interpreters'))
sub('tests/hosts/test_starting.py', ('cli.Work(', 'cli.ProgramSpec('))
sub('benchmarks/input_budget.py', ('"StepsProgram"', '"StepLoopProgram"'))
sub('towerstrat/graph/lowering/error_records.py', ('``FAULT``', '``ERROR_RECORD``'))
for p in ('towerstrat/graph/ops/collectives/all_reduce.py', 'towerstrat/graph/runtime/plans/runner.py'): sub(p, ('``Uneven``', '``UnevenShards``'))
