"""GET of the API asked again: 304 without a body when nothing has changed, so that polling costs few bytes."""

from __future__ import annotations

from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.middleware.http import ConditionalGetMiddleware
from django.utils.cache import patch_cache_control, patch_vary_headers


class RevalidationMiddleware(ConditionalGetMiddleware):
    """An ETag of the bytes for each JSON answer below /api/. One that has its own means a version by it, not its bytes.

    Pages are left out: each is another, by its nonce."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        is_ours = request.method == "GET" and request.path.startswith("/api/")
        if not is_ours or not _is_json(response) or response.has_header("ETag"):
            return response
        patch_cache_control(response, private=True, no_cache=True)
        patch_vary_headers(response, ["Authorization", "Cookie"])
        return super().process_response(request, response)


def _is_json(response: HttpResponseBase) -> bool:
    is_whole = response.status_code == 200 and not isinstance(response, StreamingHttpResponse)
    return is_whole and response["Content-Type"].startswith("application/json")
