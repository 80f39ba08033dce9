{% autoescape off %}#!/bin/sh
# Makes this machine a host of the control panel. Read it first if you like; it is meant to be piped into sh:
#
#   curl -fsSL <panel>/agent/v1/install | PANEL_ENROLMENT_TOKEN=... sh
#
# Everything goes into $HOME/.tpu-panel-agent, and nothing needs root. Run again it upgrades the agent, and starts it anew
# only when that is needed; work that runs here goes on meanwhile. PANEL_HOST_NAME and PANEL_HOST_CHIPS (before the first
# run) say what the panel calls this host, and how many chips it has. A second host on one machine, as another user or with
# another HOME, needs a PANEL_MACHINE_ID of its own.
set -eu

panel={{ panel }}
home=$HOME/.tpu-panel-agent # the agent's state folder, too
venv=$home/venv
log=$home/agent.log
wait_s=30

say() { printf '%s\n' "$*"; }
fail() { printf 'tpu-panel-agent: %s\n' "$*" >&2; exit 1; }

# -- Python ------------------------------------------------------------------------------------------------
find_python() {
    old='' bare=''
    for python in python3 python3.13 python3.12 python3.11 python3.10; do
        command -v "$python" >/dev/null 2>&1 || continue
        if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' </dev/null; then
            old=$python
        elif ! "$python" -c 'import venv, ensurepip' </dev/null 2>/dev/null; then
            bare=${bare:-$python}
        else
            return 0
        fi
    done
    [ -z "$bare" ] || fail "$bare cannot make virtual environments here: install what Debian calls $bare-venv (sudo apt install $bare-venv), then run this again."
    [ -z "$old" ] || fail "Python 3.10 or newer is needed, and $old is older: install what Debian calls python3 and python3-venv, then run this again."
    fail "Python 3.10 or newer is needed, and there is none: install what Debian calls python3 and python3-venv, then run this again."
}

# -- Installing --------------------------------------------------------------------------------------------
# The list names everything with its hash.
fetch_list() {
    curl -fsS --max-time 60 -o "$home/requirements.new" "$panel/agent/v1/requirements.txt" </dev/null ||
        fail "the list of what to install did not come from $panel."
}

is_installed() {
    [ -f "$venv/requirements.txt" ] && [ "$(cat "$venv/requirements.txt")" = "$(cat "$home/requirements.new")" ] &&
        "$venv/bin/python" -c 'import agent' </dev/null 2>/dev/null
}

# What stood there before comes back when this fails.
install_agent() {
    say "Installing the agent into $venv ..."
    if [ -d "$venv" ]; then
        rm -rf "$home/venv.old"
        mv "$venv" "$home/venv.old"
    fi
    is_half=yes
    "$python" -m venv "$venv" </dev/null || fail "no virtual environment could be made in $venv; the reason stands above."
    "$venv/bin/python" -m pip --quiet --no-cache-dir --disable-pip-version-check --no-input \
        install --require-hashes -r "$home/requirements.new" </dev/null ||
        fail "the agent could not be installed; the reason stands above."
    cp "$home/requirements.new" "$venv/requirements.txt"
    is_half=no
    rm -rf "$home/venv.old"
}

clean_up() {
    rm -f "$home/requirements.new"
    if [ "$is_half" = yes ]; then
        rm -rf "$venv"
        if [ -d "$home/venv.old" ]; then mv "$home/venv.old" "$venv"; fi
    fi
    cd /
    rmdir "$home" 2>/dev/null || true # only when there is nothing in it
}

# -- Running -----------------------------------------------------------------------------------------------
# Who runs holds the lock, and its process id stands in it.
agent_pid() {
    "$venv/bin/python" - "$home/lock" <<'PYTHON'
import fcntl, sys
try:
    lock = open(sys.argv[1], "r+")
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
except FileNotFoundError:
    pass
except BlockingIOError:
    print(lock.read().strip())
PYTHON
}

is_for_this_panel() { tr '\0' '\n' <"/proc/$1/cmdline" 2>/dev/null | grep -qxF -e "$panel"; }
is_systemds() { grep -q tpu-panel-agent.service "/proc/$1/cgroup" 2>/dev/null; }

stop_agent() {
    kill "$1" 2>/dev/null || true
    left=$wait_s
    while [ "$left" -gt 0 ] && [ "$(agent_pid)" = "$1" ]; do sleep 1; left=$((left - 1)); done
    [ "$left" -gt 0 ] || fail "the running agent (process $1) does not end; end it, then run this again."
}

agent_command() { # is called with what is to be done with the command
    set -- "$@" "$venv/bin/python" -m agent run --panel "$panel" --state "$home"
    if [ -n "${PANEL_HOST_NAME:-}" ]; then set -- "$@" "--name=$PANEL_HOST_NAME"; fi
    if [ -n "${PANEL_HOST_CHIPS:-}" ]; then set -- "$@" "--chips=$PANEL_HOST_CHIPS"; fi
    if [ -n "${PANEL_MACHINE_ID:-}" ]; then set -- "$@" "--machine-id=$PANEL_MACHINE_ID"; fi
    "$@"
}

in_background() {
    cd "$home"
    if command -v setsid >/dev/null 2>&1; then set -- setsid "$@"; fi
    LOG_LEVEL=INFO PANEL_ENROLMENT_TOKEN=$token nohup "$@" >>"$log" 2>&1 </dev/null &
    started=$!
}

words() { tail -c "+$((said + 1))" "$log" 2>/dev/null || true; }

# Until the panel has given the agent a session.
wait_enrolled() {
    left=$wait_s
    until words | grep -q ' session='; do
        if ! kill -0 "$started" 2>/dev/null; then
            why=$(words | sed -n 's/^agent\( run\)\{0,1\}: //p' | tail -n 1)
            fail "${why:-the agent ended at once; its last words are in $log}"
        fi
        [ "$left" -gt 0 ] || fail "the agent runs but the panel has not taken it within $wait_s s; its last words ($log): $(words | tail -n 1)"
        sleep 1
        left=$((left - 1))
    done
}

# The panel gives each host an address of its Redis. That it was enrolled does not say that it gets there.
check_redis() {
    "$venv/bin/python" - "$home/agent.json" <<'PYTHON' || fail "no work can come here yet. Once the address is mended: kill \$(cat $home/lock); rm $home/agent.json; then run a new command from $panel/hosts/new."
import json, sys, time
from urllib.parse import urlsplit
import redis
url = json.load(open(sys.argv[1]))["redis_url"]
for left in (2, 1, 0):
    try:
        redis.Redis.from_url(url, socket_connect_timeout=5, socket_timeout=5).ping()
        break
    except redis.exceptions.RedisError as error:
        trouble = error
        time.sleep(left)
else:
    print(f"The panel's Redis at {urlsplit(url).hostname}:{urlsplit(url).port or 6379} cannot be used from here ({trouble}).", file=sys.stderr)
    print("Whoever runs the panel sets HOSTS_REDIS_URL to an address that this machine reaches.", file=sys.stderr)
    sys.exit(1)
PYTHON
}

# -- After a reboot ----------------------------------------------------------------------------------------
unit_word() { printf ' "%s"' "$(printf '%s' "$1" | sed 's/[\\"]/\\&/g; s/%/%%/g; s/\$/$$/g')"; }
unit_line() { printf 'ExecStart='; for word in "$@"; do unit_word "$word"; done; }

write_unit() {
    cat >"$home/agent.service" <<UNIT
[Unit]
Description=Agent of the TPU control panel
Wants=network-online.target
After=network-online.target

[Service]
User=$(id -un)
$(agent_command unit_line)
Restart=always
RestartSec=5
# Work that runs here outlives its agent, and is no reason to end it.
KillMode=process
OOMPolicy=continue

[Install]
WantedBy=multi-user.target
UNIT
}

main() {
    token=${PANEL_ENROLMENT_TOKEN:-}
    unset PANEL_ENROLMENT_TOKEN # of all that is started here the agent alone gets it
    if [ -z "$token" ] && [ ! -f "$home/agent.json" ]; then
        fail "PANEL_ENROLMENT_TOKEN is not set: copy the whole command from $panel/hosts/new."
    fi
    find_python
    umask 077
    mkdir -p "$home"
    cd "$home"
    is_half=no
    trap clean_up EXIT
    trap 'exit 1' HUP INT TERM
    fetch_list
    is_new=no
    if ! is_installed; then
        install_agent
        is_new=yes
    fi

    pid=$(agent_pid)
    if [ -n "$pid" ] && [ "$is_new" = no ] && is_for_this_panel "$pid"; then
        say "This machine is a host of $panel already, with the newest agent, which runs (process $pid): nothing was changed, and the token was not needed."
        exit 0
    fi
    if [ -n "$pid" ] && is_systemds "$pid"; then
        stop_agent "$pid"
        say "The agent was installed anew, and systemd starts it again; work that ran here went on."
        exit 0
    fi
    if [ -n "$pid" ]; then stop_agent "$pid"; fi
    touch "$log"
    said=$(wc -c <"$log")
    agent_command in_background
    wait_enrolled
    check_redis

    if [ -n "$pid" ]; then say "The agent was installed anew and started again; work that ran here went on."; fi
    say "This machine is a host of $panel."
    say "  see it   $panel/hosts"
    say "  log      $log"
    say "  stop     kill \$(cat $home/lock)      what runs here goes on"
    if command -v systemctl >/dev/null 2>&1; then
        write_unit
        say "It does not start by itself after a reboot. If systemd is to see to that:"
        say "  sudo cp $home/agent.service /etc/systemd/system/tpu-panel-agent.service && sudo systemctl enable tpu-panel-agent"
    else
        say "It does not start by itself after a reboot: run this again then."
    fi
}

main "$@" # in the last line, so that half a download does nothing
{% endautoescape %}
