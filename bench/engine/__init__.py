"""Stream engines under test: one file each, behind one small protocol."""
