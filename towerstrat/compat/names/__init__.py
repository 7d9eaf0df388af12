"""The names of the two namespaces as tables, and the trees of modules that are made from them."""
