"""The tools a model may call, and what guards them.

Nothing here knows a model, an engine or a face: names and arguments in, results out.
"""
