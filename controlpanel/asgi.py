"""HTTP and the one websocket endpoint."""

from __future__ import annotations

import os
import warnings

from channels.routing import ProtocolTypeRouter, URLRouter
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlpanel.settings")
# Static files and the agent's wheel are small: that a whole one is read at once is no news.
warnings.filterwarnings("ignore", message="StreamingHttpResponse must consume synchronous iterators")
http = get_asgi_application()

from django.conf import settings  # noqa: E402  needs the variable above

from controlpanel.body_limit import BodyLimit  # noqa: E402
from monitoring.routing import websocket_urlpatterns  # noqa: E402  needs the apps

FORM_BYTES = 1024**2  # around the largest file that a form carries

limited = BodyLimit(http, most_bytes=settings.SOURCE_MAX_BYTES + FORM_BYTES)
application = ProtocolTypeRouter({"http": limited, "websocket": URLRouter(websocket_urlpatterns)})
