"""Measurements, each run from the project's folder: ``python -m scripts.NAME``."""
