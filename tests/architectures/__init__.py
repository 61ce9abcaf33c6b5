"""The proof on every architecture: states and logits equal to the bit, for every way back."""
