"""The one exception of the set-up: its message is the whole output, so it must be one clear line."""


class SetupError(Exception):
    """Set-up cannot go on; the message says why and what to do."""
