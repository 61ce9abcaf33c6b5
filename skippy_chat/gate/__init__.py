"""The acceptance run: what the cache promises, tried on any model on any machine, through the product's own client."""
