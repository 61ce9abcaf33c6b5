"""Model files: finding one by name, checking it before native code sees it, and making the default one."""
