"""The full-screen app: a face like the others, which renders events and sends commands."""
