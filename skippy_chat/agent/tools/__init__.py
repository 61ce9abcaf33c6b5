"""The tools a model may call, and what guards them."""
