"""Conversations that a program holds with the engine, to try it (``gate``) or to measure it (``bench``)."""
