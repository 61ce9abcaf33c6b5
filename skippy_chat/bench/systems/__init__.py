"""The systems that are asked the same prompts: ours, llama-server, and llama-cpp-python's disk cache."""
