"""The default run within its time: tests whose lines of the package others run too are left to the long run."""
