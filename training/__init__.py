"""How the default model's branch is made and measured; never installed, and run from a clone."""
