"""The 1.x namespace: ``import towerstrat.compat.v1 as tf``.

Its modules (``tf.nn``, ``tf.train``, ...) are made from the table of names in ``towerstrat.compat.names`` and can be
imported by their own names too.
"""

import sys

from towerstrat.compat import names
from towerstrat.compat.namespace import build, publish

_tree = build(__name__, names.table())
_tree.__spec__ = __spec__
_tree.__doc__ = __doc__
_tree.__file__ = __file__
# What is left of this module's own names would be names of the original's to a program.
sys.modules[__name__] = _tree
publish(_tree)
