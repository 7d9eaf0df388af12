"""Several processes, one per host, that run one program: how they start, agree, are watched, and end."""
