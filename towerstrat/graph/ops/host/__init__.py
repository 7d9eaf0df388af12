"""Operations that call Python on the host: ``py_func``, prints, runtime checks."""
