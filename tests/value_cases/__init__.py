"""Which test shows a wrong value of each thing that the package computes, and the proof that it does.

``cases.tsv`` names, for each thing of each kind (``universe.py``), a test of the default run.
``python -m tests.value_cases --prove`` makes each thing wrong by a little and runs its test: it has to fail, and to
pass where the same is done with a change of nothing.
"""
