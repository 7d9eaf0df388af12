"""The 2.x namespace: ``import towerstrat.compat.v2 as tf``.

Its modules (``tf.nn``, ``tf.train``, ...) are made from the table of names in ``towerstrat.compat.names`` and can be
imported by their own names too. A process that imports this namespace before ``towerstrat.compat.v1`` runs as 2.x does:
eagerly, with ``==`` of tensors as a comparison of values.
"""

import sys

from towerstrat.compat import namespace_packages as library
from towerstrat.compat.names.namespace import publish
from towerstrat.compat.v1_functions import behavior_switches as behavior

# What is left of this module's own names would be names of the original's to a program.
publish(library.v2, sys.modules[__name__])
if "towerstrat.compat.v1" not in sys.modules:
    behavior.begin_as_v2()
