"""The websocket /ws/v1: who is there, what they listen to, and for how long they may."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from typing import Any

from channels.generic.websocket import AsyncWebsocketConsumer

from monitoring import door, live, messages
from monitoring.messages import Ping, Position, Subscribe, Unsubscribe
from monitoring.positions import ByteRoom
from monitoring.subject_subscriptions import SubjectSubscription
from monitoring.subscriptions import Disconnected, ListSubscription, Subscription, in_thread
from projects.errors import NotFound, Unauthorized

logger = logging.getLogger(__name__)

MAX_SUBSCRIPTIONS = 64
NO_LONGER_ADMITTED = 4403  # close code: signed out, deactivated, token revoked
TOO_LONG = 1009
TRY_AGAIN = 1013


class SubjectConsumer(AsyncWebsocketConsumer):
    """One socket. Every `check_every_s` it asks anew who is there and what they may see, and compares all positions."""

    check_every_s = 10.0
    give_up_s = 60.0  # a client that takes nothing for so long is gone: TCP itself may notice only after a quarter of an hour

    def __init__(self) -> None:
        super().__init__()
        self.room = ByteRoom()
        self.turn = asyncio.Lock()
        self._subscriptions: dict[str, Subscription] = {}
        self._checks: asyncio.Task[None] | None = None
        self._farewell: asyncio.Task[None] | None = None

    async def __call__(self, scope, receive, send) -> None:
        try:
            await super().__call__(scope, receive, send)
        except Disconnected:
            pass
        finally:  # however the socket ends
            self._release()

    async def connect(self) -> None:
        try:
            if not door.origin_is_ours(self.scope):
                raise Unauthorized("cross-origin", "This page is not the panel's.")
            await in_thread(door.identify)(self.scope)
        except Unauthorized:
            await self.close()  # before accept: HTTP 403
            return
        await self.accept()
        self._checks = asyncio.create_task(self._check_always(), name="checks of a socket")

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        if len(text_data or "") > messages.MAX_BYTES:
            await self._put_out(TOO_LONG)
            return
        try:
            message = messages.parse(text_data or "")
        except (ValueError, RecursionError):
            await self.tell({"type": "error", "code": "malformed"})
            return
        try:
            await self._take(message)
        except Disconnected:
            raise
        except Exception:  # the database is away, say
            logger.exception("socket closed message=%s", type(message).__name__)
            await self._put_out(TRY_AGAIN)

    async def _take(self, message: messages.Message) -> None:
        match message:
            case Subscribe():
                await self._subscribe(message)
            case Unsubscribe():
                self._leave(message.subject)
            case Position():
                await self._go_to(message)
            case Ping():
                await self.tell({"type": "pong"})

    async def tell(self, message: dict[str, Any]) -> None:
        await self._send_frame(text_data=json.dumps(message))

    async def tell_bytes(self, frame: bytes) -> None:
        await self._send_frame(bytes_data=frame)

    async def _send_frame(self, **frame: str | bytes) -> None:
        try:
            async with asyncio.timeout(self.give_up_s):
                await self.send(**frame)
        except OSError as error:  # the server's word that nobody is there, or a TimeoutError
            self._release()
            if self._farewell is None:  # for who comes back to an open socket on which nothing comes any more
                self._farewell = asyncio.create_task(self._put_out(TRY_AGAIN), name="farewell of a socket")
            raise Disconnected from error

    async def _subscribe(self, wanted: Subscribe) -> None:
        self._leave(wanted.subject)
        if len(self._subscriptions) >= MAX_SUBSCRIPTIONS:
            await self._refuse(wanted.subject, "too-many-subscriptions")
            return
        try:
            subject = await in_thread(door.admit)(self.scope, wanted.subject)
        except NotFound as error:
            await self._refuse(wanted.subject, error.code)
            return
        except Unauthorized:
            await self._put_out(NO_LONGER_ADMITTED)
            return
        subscription: Subscription
        if subject is None:
            subscription = ListSubscription(self, wanted.subject)
        else:
            subscription = SubjectSubscription(self, subject, wanted)
        self._subscriptions[wanted.subject] = subscription
        await live.reader().follow(wanted.subject, subscription)
        answer = await subscription.open()
        if self._subscriptions.get(wanted.subject) is subscription:  # no check has ended it meanwhile
            await self.tell(answer)
            subscription.start()

    async def _go_to(self, position: Position) -> None:
        subscription = self._subscriptions.get(position.subject)
        if isinstance(subscription, SubjectSubscription):
            subscription.go_to(position.log, position.offset)
        else:
            await self._refuse(position.subject, "not-subscribed")

    async def _check_always(self) -> None:
        while True:
            await asyncio.sleep(self.check_every_s)
            try:
                await self._check()
            except Unauthorized:
                await self._put_out(NO_LONGER_ADMITTED)
                return
            except Disconnected:
                return
            except Exception:  # who cannot be checked, or told, hears nothing more
                logger.exception("socket not checked, closed")
                await self._put_out(TRY_AGAIN)
                return

    async def _check(self) -> None:
        asked = dict(self._subscriptions)  # others come meanwhile, each asked about by itself
        admitted = await in_thread(door.still_admitted)(self.scope, list(asked))
        refused = [address for address in asked if address not in admitted and self._subscriptions.get(address) is asked[address]]
        for address in refused:
            self._leave(address)
        for subscription in self._subscriptions.values():
            subscription.compare()
        async with asyncio.timeout(self.check_every_s):  # a browser that takes nothing must not hold up the next check
            for address in refused:
                await self._refuse(address, "no-such-subject")

    async def _put_out(self, code: int) -> None:
        self._leave_all()
        with contextlib.suppress(OSError, RuntimeError):  # gone by itself, or closed already
            await self.close(code)

    async def _refuse(self, address: str, code: str) -> None:
        await self.tell({"type": "refused", "subject": address, "code": code})

    def _leave(self, address: str) -> None:
        subscription = self._subscriptions.pop(address, None)
        if subscription is not None:
            subscription.stop()
            live.reader().leave(address, subscription)

    def _release(self) -> None:
        self._leave_all()
        if self._checks is not None:
            self._checks.cancel()

    def _leave_all(self) -> None:
        for address in list(self._subscriptions):
            self._leave(address)
