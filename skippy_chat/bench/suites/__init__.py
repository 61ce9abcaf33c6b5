"""One module per suite; each has ``run``, which writes what it found into a notebook."""
