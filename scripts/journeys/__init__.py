"""Walks through the program as a new user takes them, in real terminals on the default model, with pictures."""
