"""The phases of the gate, one module for each subject; ``registry`` knows them by name."""
