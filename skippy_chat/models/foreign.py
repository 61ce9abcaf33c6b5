"""Tells what a file is when it is not GGUF, so that the person knows what they really downloaded."""

from __future__ import annotations

_CONVERT = "Convert it to GGUF with llama.cpp's converter, or get a GGUF of the same model."
_AGAIN = "Download the .gguf file itself again."

# (first bytes, what they mean, the mend)
_BEGINNINGS: tuple[tuple[tuple[bytes, ...], str, str], ...] = (
    (
        (b"PK\x03\x04",),
        "a zip archive (a PyTorch checkpoint or a package)",
        "Unpack it, or get the .gguf file itself.",
    ),
    ((b"version https://git-lfs",), "a Git LFS pointer", "Fetch the real file with `git lfs pull`."),
    (
        (b"lmgg", b"fmgg", b"tjgg", b"algg"),
        "a model in the format before GGUF",
        "Get a newer conversion of the model.",
    ),
    (
        (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05"),
        "a Python pickle (a PyTorch checkpoint)",
        _CONVERT,
    ),
    (
        (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd", b"7z\xbc\xaf"),
        "a compressed archive",
        "Unpack it first.",
    ),
)


def foreign_format(start: bytes) -> tuple[str, str]:
    """Return (what the first bytes of a file look like, the mend); give some 512 bytes."""
    for beginnings, what, mend in _BEGINNINGS:
        if start.startswith(beginnings):
            return what, mend
    if start[8:9] == b"{" and int.from_bytes(start[:8], "little") < 1 << 32:
        return "a safetensors file", _CONVERT
    text = start.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if text.startswith((b"<!doctype", b"<html", b"<?xml", b"<head")):
        return "a web page", f"The download probably got an error or sign-in page. {_AGAIN}"
    if text.startswith((b"{", b"[")):
        return "a JSON text", _AGAIN
    return f"something else (it begins with {start[:4]!r})", "Name a file that holds a GGUF model."
