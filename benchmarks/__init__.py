"""Speed of towerstrat against hand-written JAX and against the original, measured on the machine that runs this."""
