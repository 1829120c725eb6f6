"""A turn that proves nothing ends the run: a figure out of it would look like any other."""


class TurnFailed(Exception):  # noqa: N818 - says what happened
    """One line that says who did not do what."""
