"""The engine: from messages to tokens, from checkpoints to answers; it runs in a worker process of its own."""
