"""A simulator of the checkpoint store's policy: no model, no disk, the product's own functions."""
