"""From fetches to results: plans, device programs, step loops, loops over data, sessions."""
