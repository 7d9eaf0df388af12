"""Random programs that are computed several ways, which must agree. ``python -m tests.fuzz`` runs many of them."""
