"""What an operator does at the command line of the panel's own machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError

from projects.errors import PanelError


@contextmanager
def said_as_errors() -> Iterator[None]:
    """What a service or a model refuses ends the command with its sentences, by field, and no traceback."""
    try:
        yield
    except PanelError as error:
        raise CommandError(error.sentence) from None
    except ValidationError as error:
        raise CommandError("; ".join(f"{field}: {' '.join(said)}" for field, said in error.message_dict.items())) from None
