"""Notices as mail. It goes out once or not at all: what may have gone out is not tried again."""

from __future__ import annotations

import smtplib
from collections.abc import Sequence
from contextlib import suppress

from django.conf import settings
from django.contrib.auth.models import User
from django.core.mail import EmailMessage, get_connection
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, override

from jobs.models import Notice
from jobs.notice_messages import Message, language_of
from jobs.undelivered import Undelivered


def send(notices: Sequence[Notice], *, to: str, user: User) -> None:
    """One mail of all of them, in the person's language. Raises Undelivered; not `again` when it may have gone out."""
    with override(language_of(user)):
        mail = composed([Message.of(notice) for notice in notices], to=to)
    mail.extra_headers["Message-ID"] = f"<{notices[0].message_id}@{settings.MAIL_DOMAIN}>"
    connection = get_connection()
    try:
        connection.open()
    except (OSError, smtplib.SMTPException) as error:
        raise Undelivered(_("The mail server cannot be reached: %(detail)s") % {"detail": _words(error)}) from None
    try:
        connection.send_messages([mail])
    except smtplib.SMTPRecipientsRefused as error:
        code, words = next(iter(error.recipients.values()))
        raise _refused(code, words) from None
    except (smtplib.SMTPSenderRefused, smtplib.SMTPDataError, smtplib.SMTPHeloError) as error:
        raise _refused(error.smtp_code, error.smtp_error) from None
    except (OSError, smtplib.SMTPException) as error:
        sentence = _("The mail server did not say whether it took it, so it is not sent again: %(detail)s")
        raise Undelivered(sentence % {"detail": _words(error)}, again=False) from None
    finally:
        _close(connection)


def composed(messages: Sequence[Message], *, to: str) -> EmailMessage:
    more = len(messages) - 1
    subject = messages[0].headline
    if more:
        subject = ngettext("%(first)s, and %(more)s more", "%(first)s, and %(more)s more", more) % {
            "first": subject,
            "more": more,
        }
    end = _("You asked for this on %(link)s") % {"link": f"{settings.PUBLIC_URL}/notices"}
    return EmailMessage(
        subject=" ".join(subject.split()),  # a name has no line break; a header must not
        body="\n\n".join([*(one.paragraph for one in messages), "-- \n" + end]) + "\n",
        to=[to],
        headers={"Auto-Submitted": "auto-generated"},
    )


def _refused(code: int, words: bytes | str) -> Undelivered:
    """A server's own no: of 4xx it may say yes later."""
    text = words.decode(errors="replace") if isinstance(words, bytes) else words
    return Undelivered(_("The mail server refused it: %(code)s %(words)s") % {"code": code, "words": text}, again=code < 500)


def _words(error: Exception) -> str:
    return str(error) or type(error).__name__


def _close(connection: object) -> None:
    with suppress(OSError, smtplib.SMTPException):  # what is to be said of the mail has been said
        connection.close()  # type: ignore[attr-defined]
