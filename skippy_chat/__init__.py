"""Terminal chat for local models that never reads the same prefix twice."""

__version__ = "0.1.0"
