"""Operations that run when they are called: tensors with values, the context that executes, and the tape."""
