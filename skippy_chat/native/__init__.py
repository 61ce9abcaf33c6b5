"""ctypes over the patched llama.cpp; nothing above this package sees a pointer."""
