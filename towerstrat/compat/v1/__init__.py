"""The 1.x namespace: ``import towerstrat.compat.v1 as tf``.

Its modules (``tf.nn``, ``tf.train``, ...) are made from the table of names in ``towerstrat.compat.names`` and can be
imported by their own names too.
"""

import sys

from towerstrat.compat import namespace_packages as library
from towerstrat.compat.names.namespace import publish

# What is left of this module's own names would be names of the original's to a program.
publish(library.v1, sys.modules[__name__])
