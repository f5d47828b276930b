"""Link health: what is asked of a link, what came back, and what may honestly be said of it."""
