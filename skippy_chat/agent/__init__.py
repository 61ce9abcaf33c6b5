"""Turns and tool loops: what runs beside the faces, between the history and the engine."""
