"""Why something that was to reach a person did not."""

from __future__ import annotations


class Undelivered(Exception):
    """In a sentence. `again`: it is known not to have arrived, and may be tried again.

    `is_answer`: whoever should take it is there, and refused this one.
    """

    def __init__(self, sentence: str, *, again: bool = True, is_answer: bool = False) -> None:
        super().__init__(sentence)
        self.sentence, self.again, self.is_answer = sentence, again, is_answer
