"""Pure functions over text: decoding bytes, stop strings, making foreign text safe to show, sizes."""
