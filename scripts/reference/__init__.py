"""The parts of docs/configuration.md and docs/json.md that are made from the code, and docs/schema."""
