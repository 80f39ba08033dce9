"""Settings of the panel: one file, everything from the environment, each with a default that works on a laptop.

A wrong value fails loudly at start.
"""

from __future__ import annotations

import os
import secrets
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

import dj_database_url
import limits
from csp.constants import NONCE, SELF
from django.core.exceptions import ImproperlyConfigured

BASE_DIR = Path(__file__).resolve().parent.parent


def _text(name: str, default: str) -> str:
    return os.environ.get(name, "").strip() or default


def _number(name: str, default: float) -> float:
    text = _text(name, str(default))
    try:
        number = float(text)
    except ValueError:
        raise ImproperlyConfigured(f"{name} must be a number, not {text!r}") from None
    if number < 0:
        raise ImproperlyConfigured(f"{name} must not be negative: {text}")
    return number


def _rate(name: str, default: str) -> str:
    text = _text(name, default)
    if text == "0":
        return ""
    try:
        limits.parse(text)
    except ValueError:
        raise ImproperlyConfigured(f"{name} must be like 3000/minute, or 0, not {text!r}") from None
    return text


def _networks(name: str) -> list[IPv4Network | IPv6Network]:
    try:
        return [ip_network(text) for text in _text(name, "").split()]
    except ValueError as error:
        raise ImproperlyConfigured(f"{name} must be networks as 10.1.0.0/16, with spaces between them: {error}") from None


MAIL_PORTS = {"smtp": 25, "smtp+tls": 587, "smtps": 465, "": 25}


def _mail_server(text: str) -> SplitResult:
    server = urlsplit(text)
    try:
        is_one = server.scheme in MAIL_PORTS and server.port != 0 and bool(server.hostname)
    except ValueError:
        is_one = False
    if text and not is_one:
        raise ImproperlyConfigured("EMAIL_URL must be like smtp+tls://user:password@mail.example:587")
    return server


def _flag(name: str, default: bool) -> bool:
    text = _text(name, "yes" if default else "no").lower()
    if text not in {"yes", "no", "true", "false", "1", "0"}:
        raise ImproperlyConfigured(f"{name} must be yes or no, not {text!r}")
    return text in {"yes", "true", "1"}


def _kept_key(path: Path) -> str:
    """A key made once and kept in a file that only its owner may read; of two makers at once one wins."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_urlsafe(50))
    except FileExistsError:
        pass
    return path.read_text().strip()


# -- Where things live ------------------------------------------------------------------------------
VAR_DIR = Path(_text("PANEL_VAR", str(BASE_DIR / "var")))  # all state of a laptop's installation; ignored by git
SECRET_KEY = os.environ.get("SECRET_KEY") or _kept_key(VAR_DIR / "secret_key")
SECRETS_KEY_FILE = VAR_DIR / "secrets_key"  # encrypts stored secrets (projects/secrets.py)

# -- Reach -------------------------------------------------------------------------------------------
DEBUG = _flag("DEBUG", False)
PUBLIC_URL = _text("PUBLIC_URL", "http://127.0.0.1:8000").rstrip("/")  # what browsers and hosts use
_public = urlsplit(PUBLIC_URL)
if _public.scheme not in {"http", "https"} or not _public.hostname:
    raise ImproperlyConfigured(f"PUBLIC_URL must be an http or https address, not {PUBLIC_URL!r}")
ALLOWED_HOSTS = [*_text("ALLOWED_HOSTS", "localhost 127.0.0.1 [::1]").split(), _public.hostname]
CSRF_TRUSTED_ORIGINS = [PUBLIC_URL]
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = _public.scheme == "https"
SESSION_COOKIE_HTTPONLY = True
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if _flag("BEHIND_PROXY", False) else None

# -- Redis: broker, report streams, live streams. May be wiped at any time. ---------------------------
_redis_url_file = VAR_DIR / "redis_url"  # written by `manage.py up` for the embedded Valkey
REDIS_URL = _text("REDIS_URL", _redis_url_file.read_text().strip() if _redis_url_file.exists() else "redis://127.0.0.1:6379/0")
HOSTS_REDIS_URL = _text("HOSTS_REDIS_URL", "")  # what hosts connect to, without user and password; "": as REDIS_URL

# -- Database ------------------------------------------------------------------------------------------
DATABASE_URL = _text("DATABASE_URL", f"sqlite:///{VAR_DIR / 'panel.sqlite3'}")
DATABASES = {"default": dj_database_url.parse(DATABASE_URL)}
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    DATABASES["default"]["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",  # a transaction that will write waits at its start, not with "locked" at its end
        "timeout": 20,  # seconds
        # auto_vacuum comes first: it has no effect on a file that journal_mode has already written.
        "init_command": "PRAGMA auto_vacuum=INCREMENTAL; PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
        " PRAGMA busy_timeout=20000; PRAGMA cache_size=-64000; PRAGMA mmap_size=268435456;",
    }
    DATABASES["default"]["TEST"] = {"NAME": None}
else:
    # A thread a request under ASGI: without a pool, a connection each. Of each of the panel's seven processes, so that a server
    # with PostgreSQL's own limit of 100 has room. Seconds: who asks waits so long; and after so many tries anew begin with the
    # next who asks, while with the default of 300 they are up to four minutes apart.
    DATABASES["default"]["OPTIONS"] = {"pool": {"min_size": 1, "max_size": 10, "timeout": 10, "reconnect_timeout": 5}}
    DATABASES["default"]["CONN_MAX_AGE"] = 0
    DATABASES["default"]["CONN_HEALTH_CHECKS"] = True  # else each connection that a restart has cut costs a request
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# -- Deadlines of the road, in seconds (the table of states in docs/states.md) ------------------------------
PLACE_SILENT_S = _number("PLACE_SILENT_S", 15)  # placement skips a host that was silent for so long
CLAIM_DEADLINE_S = _number("CLAIM_DEADLINE_S", 60)  # an order that nobody claimed ends
CLAIM_SILENT_S = _number("CLAIM_SILENT_S", 30)  # the same when its host is silent
SOURCE_DEADLINE_S = _number("SOURCE_DEADLINE_S", 60)  # a git ref resolved to a commit
PREPARE_DEADLINE_S = _number("PREPARE_DEADLINE_S", 600)  # source fetched
BUILD_DEADLINE_S = _number("BUILD_DEADLINE_S", 3600)  # runtime built
BARRIER_DEADLINE_S = _number("BARRIER_DEADLINE_S", 600)  # all ranks of a gang ready
FOLDER_GONE_S = _number("FOLDER_GONE_S", 30)  # a host does not know what it claimed so long ago: its folder was deleted
SECOND_AGENT_S = _number("SECOND_AGENT_S", 60)  # another agent of the same host heard within: 409
PANEL_GAP_S = _number("PANEL_GAP_S", 10)  # the inbox did not read for so long: hosts' silence counts anew
LOOP_HOLD_S = _number("LOOP_HOLD_S", 10)  # a loop's holder that says nothing for so long has lost it

# -- Sources ---------------------------------------------------------------------------------------------
GIT_SCHEMES = _text("GIT_SCHEMES", "https ssh").split()  # of addresses that people may name
GIT_TIMEOUT_S = _number("GIT_TIMEOUT_S", 25)  # for one question to a git server; less than SOURCE_DEADLINE_S
SOURCE_MAX_BYTES = int(_number("SOURCE_MAX_MIB", 64) * 1024**2)  # of an uploaded archive
SOURCE_MAX_UNPACKED_BYTES = int(_number("SOURCE_MAX_UNPACKED_MIB", 512) * 1024**2)  # of what is in it

# -- Logs ------------------------------------------------------------------------------------------------
LOG_SEAL_BYTES = int(_number("LOG_SEAL_BYTES", 256 * 1024))  # pieces of a log are sealed into one object from here
LOG_SEAL_QUIET_S = _number("LOG_SEAL_QUIET_S", 60)  # or after so long without a new byte
LOG_KEEP_DAYS = _number("LOG_KEEP_DAYS", 90)  # from the end of its job; 0: for ever
METRIC_KEEP_DAYS = _number("METRIC_KEEP_DAYS", 365)  # the same
SAMPLES_KEEP_DAYS = _number("SAMPLES_KEEP_DAYS", 30)  # how busy hosts were; 0: for ever
DISK_GUARD_SHARE = _number("DISK_GUARD_PERCENT", 5) / 100  # of the disk: with less free the panel takes no logs
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": {"location": VAR_DIR / "files"}},
    "logs": {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": {"location": VAR_DIR / "logs"}},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}

# -- Files of jobs -----------------------------------------------------------------------------------------
FETCH_MAX_BYTES = int(_number("FETCH_MAX_BYTES", 2 * 1024**3))  # a larger file is not fetched from its host
FETCH_STALL_S = _number("FETCH_STALL_S", 600)  # a fetch of which nothing came for so long has failed
FETCH_KEEP_S = _number("FETCH_KEEP_S", 24 * 3600)  # a fetched file is dropped so long after its last piece

# -- Notices -----------------------------------------------------------------------------------------------
MAIL_URL = _text("EMAIL_URL", "")  # smtp://, smtp+tls:// or smtps://[user:password@]host[:port]; "": no mail
IS_MAIL_CONFIGURED = bool(MAIL_URL)
_mail = _mail_server(MAIL_URL)
EMAIL_HOST, EMAIL_PORT = _mail.hostname or "localhost", _mail.port or MAIL_PORTS[_mail.scheme]
EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = unquote(_mail.username or ""), unquote(_mail.password or "")
EMAIL_USE_TLS, EMAIL_USE_SSL = _mail.scheme == "smtp+tls", _mail.scheme == "smtps"
EMAIL_TIMEOUT = 10  # seconds
DEFAULT_FROM_EMAIL = _text("EMAIL_FROM", f"TPU control panel <panel@{_public.hostname}>")
MAIL_DOMAIN = _public.hostname  # of the ids of mails
NOTICE_HTTP = _flag("NOTICE_HTTP", False)  # webhooks at http addresses, which anybody on the way can read
NOTICE_PRIVATE_ADDRESSES = _networks("NOTICE_PRIVATE_ADDRESSES")  # of webhooks, as 10.1.0.0/16: beside those of the internet
NOTICE_SENDING_S = _number("NOTICE_SENDING_S", 60)  # a worker that says nothing of one for so long is taken for dead
NOTICE_KEEP_DAYS = _number("NOTICE_KEEP_DAYS", 30)  # the list of what was told

# -- Django --------------------------------------------------------------------------------------------
INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    "django_htmx",
    "channels",
    "csp",
    "axes",
    "projects",
    "monitoring",
    "clusters",
    "jobs",
    "controlpanel",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "controlpanel.compression.CompressionMiddleware",  # outside of what sets ETags and nonces
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "projects.revalidation.RevalidationMiddleware",
    "projects.rates.RateHeadersMiddleware",
    "projects.answers.PanelErrorMiddleware",
    "axes.middleware.AxesMiddleware",
]
ROOT_URLCONF = "controlpanel.urls"
ASGI_APPLICATION = "controlpanel.asgi.application"
APPEND_SLASH = False
CSRF_FAILURE_VIEW = "projects.answers.csrf_failure"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": False,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "csp.context_processors.nonce",
                "controlpanel.shell.shell",
            ],
            "builtins": ["controlpanel.templatetags.panel"],
        },
    }
]

# -- Sign-in ---------------------------------------------------------------------------------------------
AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "django.contrib.auth.backends.ModelBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "sign-in"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "sign-in"
AXES_FAILURE_LIMIT = 10  # wrong passwords for one name from one address, then
AXES_COOLOFF_TIME = 0.25  # hours of "too many tries"
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_LOCKOUT_CALLABLE = "projects.sign_in.too_many_tries"
AXES_RESET_ON_SUCCESS = True
AXES_ENABLE_ADMIN = False

# -- API ---------------------------------------------------------------------------------------------------
API_RATE = _rate("API_RATE", "3000/minute")  # requests of one person; 0: any number
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "projects.tokens.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_THROTTLE_CLASSES": ["projects.rates.PerPerson"],
    "DEFAULT_SCHEMA_CLASS": "projects.schema.PanelSchema",
    "EXCEPTION_HANDLER": "projects.answers.api_exception_handler",
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
}
API_DESCRIPTION = """
Launch jobs on shared TPU hosts, follow them, and see to hosts.

**Who asks.** `Authorization: Bearer tpu_...`, a token of the page "API tokens". It may do what its owner may, within its scope.

**Lists** answer `{"results": [...], "next_cursor": ...}`. Ask again with `cursor=` that text and the same filters until it is
null. `fields=` leaves out what you do not need.

**Errors** are `{code, message, details}`: `code` is for programs and stays, `message` is for people, `details` says of `invalid`
what is wrong with each field. `X-Request-Id` finds the request in the panel's log.

**Repeating.** A POST that makes something takes an `Idempotency-Key` of your choice: sent again with the same key and body it
answers as before, with `Idempotent-Replayed: true`, and makes nothing twice.

**Polling.** A JSON answer to GET has an `ETag`. Sent back as `If-None-Match` it brings status 304 without a body while nothing
has changed. Better than polling: `/jobs/{number}/wait`, and `/jobs/{number}/log/stream` for a log.

**Rates.** `RateLimit-Policy` says how many requests (`q`) one person has in so many seconds (`w`), `RateLimit` how many are left
(`r`) until the count begins anew in `t` seconds. Beyond it the answer is 429, and `Retry-After` says when to come again.
""".strip()
SPECTACULAR_SETTINGS = {
    "TITLE": "TPU control panel",
    "DESCRIPTION": API_DESCRIPTION,
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "SCHEMA_PATH_PREFIX_TRIM": True,
    "SERVERS": [{"url": "/api/v1"}],
    "POSTPROCESSING_HOOKS": ["drf_spectacular.hooks.postprocess_schema_enums", "projects.schema.complete"],
    "ENUM_NAME_OVERRIDES": {
        "JobStateEnum": "jobs.states.JobState",
        "WorkloadStateEnum": "clusters.states.WorkloadState",
        "HostStateEnum": "clusters.states.HostState",
        "FetchStateEnum": "clusters.states.FetchState",
        "NoticeStateEnum": "jobs.states.NoticeState",
        "NoticeKindEnum": "jobs.models.NoticeKind",
        "CauseEnum": "jobs.retries.Cause",
        "RoleEnum": "projects.models.Role",
        "StandingEnum": "projects.models.Standing",
    },
}
DATA_UPLOAD_MAX_MEMORY_SIZE = 4 * 1024 * 1024  # bytes of a request's body; a piece of a fetched file has so many
STREAM_CHECK_S = _number("STREAM_CHECK_S", 10)  # who follows a log is asked about again, and compared with the store, so often

# -- Pages ---------------------------------------------------------------------------------------------------
STATIC_URL = "static/"
STATIC_ROOT = VAR_DIR / "static"
STATICFILES_DIRS = [
    BASE_DIR / "static",
    # Packages of the browser, installed by npm (package.json); only the folders that pages link to.
    *(
        (name, BASE_DIR / "node_modules" / folder)
        for name, folder in {
            "inter": "@fontsource-variable/inter",
            "uplot": "uplot/dist",
            "jetbrains-mono": "@fontsource-variable/jetbrains-mono",
        }.items()
        if (BASE_DIR / "node_modules" / folder).is_dir()
    ),
]
ICONS_DIR = BASE_DIR / "node_modules" / "@tabler" / "icons" / "icons" / "outline"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "script-src": [SELF, NONCE],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "connect-src": [SELF, PUBLIC_URL.replace("http", "ws", 1)],
        "frame-ancestors": ["'none'"],
        "base-uri": ["'none'"],
        "form-action": [SELF],
    }
}
LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("zh-hans", "Simplified Chinese")]  # how to add one: docs/glossary.md
LOCALE_PATHS = [VAR_DIR / "locale"]  # made of the repository's locale/ by controlpanel/words.py
LANGUAGE_COOKIE_AGE = 365 * 24 * 3600  # seconds; without the cookie the browser's Accept-Language says it
LANGUAGE_COOKIE_SECURE = SESSION_COOKIE_SECURE
LANGUAGE_COOKIE_SAMESITE = "Lax"
USE_I18N = True
USE_TZ = True
TIME_ZONE = "UTC"

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "{asctime} {levelname} {name} {message}", "style": "{"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": _text("LOG_LEVEL", "INFO")},
    "loggers": {"axes": {"level": "WARNING"}, "django.request": {"level": "ERROR"}},
}
