"""Conversations as stored: messages in a tree, sessions, ledgers of token ids, and the lock of a writer."""
