"""The benchmark suite: what is claimed of reuse, restore, recording and speed, for anyone to measure again."""
