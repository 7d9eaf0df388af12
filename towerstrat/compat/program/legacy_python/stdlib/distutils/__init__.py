"""``distutils``: what programs, not installers, used of it."""
