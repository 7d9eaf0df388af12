"""The folder that children of a program have on their path: Python runs its ``sitecustomize`` when it starts."""
