"""The one exception for a user's mistake: its text says what came, what is allowed and what to do."""


class UserError(ValueError):
    """A mistake that the user can mend; the command line prints it as one sentence and exits with 2."""
