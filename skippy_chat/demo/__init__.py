"""The main jobs, unattended: a conversation and a tool loop end, and new processes go on with them from disk."""
