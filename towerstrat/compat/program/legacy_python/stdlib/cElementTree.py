"""``xml.etree.cElementTree``: the same as ``xml.etree.ElementTree``, which is as fast."""

from xml.etree.ElementTree import *  # noqa: F403
