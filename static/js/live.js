// The page's one websocket, /ws/v1. Whoever wants news has data-live="job:17 project:3" and hears DOM events:
//   live:event (detail: the event), live:hint, live:refused, live:poll (ask the server: the socket is down, or was),
//   with data-metrics live:metrics (detail.names: metrics with new points), and with data-changes live:change.
// data-seq is the last event that the element already shows, data-changes the count of what is no event, log or metric.
// Log viewers call `followLog`.
import { behave } from "panel/behaviour";

const BACK_OFF_MS = [1000, 2000, 4000, 8000, 16000, 30000];
const POLL_AFTER_MS = 5000;
const POLL_EVERY_MS = 5000;
const PING_EVERY_MS = 20000;
const PONG_WITHIN_MS = 10000;
const SIGNED_OUT = 4403; // close code
const MAX_SUBSCRIPTIONS = 64; // of one socket (monitoring/consumers.py)

class Connection extends EventTarget {
  state = "idle"; // idle, connecting, live, polling, signed-out
  since = new Date();
  isUnanswered = false; // polling, and the panel does not answer even that

  become(state) {
    if (state === this.state) return;
    this.state = state;
    this.since = new Date();
    if (state !== "polling") this.isUnanswered = false;
    this.dispatchEvent(new Event("change"));
  }

  /** What came of asking the panel for something by HTTP. */
  asked({ isAnswered }) {
    if (this.state !== "polling" || this.isUnanswered === !isAnswered) return;
    this.isUnanswered = !isAnswered;
    this.dispatchEvent(new Event("change"));
  }
}
export const connection = new Connection();

const subscriptions = new Map(); // address -> {seq, changes, elements, followers}
const changed = new Set(); // addresses that `settle` has to look at
let socket = null;
let failures = 0;
let wasLive = false;
let heardAt = 0;
const timers = { retry: 0, poll: 0, ping: 0 };

// -- What the page wants ---------------------------------------------------------------------------
behave("[data-live]", (element) => {
  const addresses = element.dataset.live.split(/\s+/).filter(Boolean);
  const seq = element.dataset.seq === undefined ? null : Number(element.dataset.seq);
  for (const address of addresses) {
    const subscription = want(address);
    subscription.elements.add(element);
    if (seq !== null && (subscription.seq === null || !subscription.isSent)) {
      subscription.seq = subscription.seq === null ? seq : Math.min(seq, subscription.seq);
    } else if (seq !== null && seq < subscription.seq) {
      queueMicrotask(() => tell(element, "live:poll")); // drawn before something that was told already
    }
    if ("changes" in element.dataset) wantChanges(address, subscription, element);
  }
  return () => {
    for (const address of addresses) {
      subscriptions.get(address)?.elements.delete(element);
      soon(address);
    }
  };
});

function wantChanges(address, subscription, element) {
  const drawn = Number(element.dataset.changes);
  if (subscription.changes === null || !subscription.isSent) {
    subscription.changes = Math.min(drawn, subscription.changes ?? drawn);
    subscription.isSent = false; // subscribing anew is how they are asked for
    soon(address);
  } else if (drawn < subscription.changes) {
    queueMicrotask(() => tell(element, "live:change"));
  }
}

/**
 * Bytes of a log from offset `from` on, in order and once each. `log`: {subject, workload, rank, part}; `on`: bytes(data, offset),
 * gap(message), complete(message), behind(message), error(message). `goTo` says where to go on, `stop` ends it.
 */
export function followLog(log, from, on) {
  const subscription = want(log.subject);
  const follower = { log, on, offset: from };
  subscription.followers.set(keyOf(log), follower);
  if (subscription.isSent) send(positionOf(follower));
  return {
    goTo(offset) {
      follower.offset = offset;
      if (subscription.isSent) send(positionOf(follower));
    },
    stop() {
      if (subscription.followers.get(keyOf(log)) !== follower) return;
      subscription.followers.delete(keyOf(log));
      subscription.isSent = false; // subscribing anew is how a log is left
      soon(log.subject);
    },
  };
}

/** The server sent a page to sign in: nothing more will come until the person does. */
export function signedOut() {
  stop();
  connection.become("signed-out");
}

function want(address) {
  let subscription = subscriptions.get(address);
  if (!subscription) {
    subscription = { seq: null, changes: null, elements: new Set(), followers: new Map(), isSent: false };
    subscriptions.set(address, subscription);
  }
  soon(address);
  return subscription;
}

function soon(address) {
  if (changed.size === 0) setTimeout(settle);
  changed.add(address);
}

/** After a swap the old element leaves and the new one comes: only what is true afterwards is said. */
function settle() {
  for (const address of changed) {
    const subscription = subscriptions.get(address);
    if (!subscription) continue;
    if (subscription.elements.size + subscription.followers.size === 0) {
      subscriptions.delete(address);
      if (subscription.isSent || subscription.wasSent) send({ type: "unsubscribe", subject: address });
    } else if (!subscription.isSent) {
      subscribe(address, subscription);
    }
  }
  changed.clear();
  if (subscriptions.size && !socket && !timers.retry && connection.state !== "signed-out") connect();
}

function subscribe(address, subscription) {
  if (socket?.readyState !== WebSocket.OPEN) return;
  if (!subscription.wasSent && [...subscriptions.values()].filter((other) => other.isSent).length >= MAX_SUBSCRIPTIONS) return;
  const logs = [...subscription.followers.values()].map(({ log, offset }) => ({ workload: log.workload, rank: log.rank, part: log.part, from: offset }));
  subscription.isSent = subscription.wasSent = true;
  const metrics = [...subscription.elements].some((element) => "metrics" in element.dataset);
  send({ type: "subscribe", subject: address, events_from: subscription.seq, changes: subscription.changes, logs, metrics });
}

// -- The socket ------------------------------------------------------------------------------------
function connect() {
  clearTimeout(timers.retry);
  timers.retry = 0;
  if (connection.state === "idle") startPollingLater();
  if (connection.state !== "polling") connection.become("connecting");
  const mine = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/ws/v1`);
  mine.binaryType = "arraybuffer";
  socket = mine;
  mine.addEventListener("open", () => { if (mine === socket) opened(); });
  mine.addEventListener("message", ({ data }) => { if (mine === socket) heard(data); });
  mine.addEventListener("close", ({ code }) => { if (mine === socket) closed(code); });
}

function opened() {
  failures = 0;
  heardAt = Date.now();
  clearTimeout(timers.poll);
  timers.poll = 0;
  connection.become("live");
  for (const [address, subscription] of subscriptions) {
    subscription.isSent = subscription.wasSent = false;
    subscribe(address, subscription);
  }
  timers.ping = setInterval(keepAlive, PING_EVERY_MS);
  // Events are resumed by number; lists only hint from now on, and logs by offset.
  for (const [address, { elements }] of subscriptions) {
    if (wasLive || isList(address)) elements.forEach((element) => tell(element, "live:poll"));
  }
  wasLive = true;
}

function closed(code) {
  socket = null;
  clearInterval(timers.ping);
  for (const subscription of subscriptions.values()) subscription.isSent = subscription.wasSent = false;
  if (code === SIGNED_OUT) {
    signedOut();
    return;
  }
  const wait = BACK_OFF_MS[Math.min(failures++, BACK_OFF_MS.length - 1)];
  timers.retry = setTimeout(connect, wait * (0.75 + Math.random() / 2));
  if (connection.state !== "polling") connection.become("connecting");
  startPollingLater();
}

function startPollingLater() {
  if (!timers.poll) timers.poll = setTimeout(poll, POLL_AFTER_MS);
}

function poll() {
  connection.become("polling");
  timers.poll = setTimeout(poll, POLL_EVERY_MS);
  if (document.hidden) return;
  for (const element of new Set([...subscriptions.values()].flatMap(({ elements }) => [...elements]))) tell(element, "live:poll");
  document.dispatchEvent(new CustomEvent("live:poll"));
}

/** A connection that died without a word (sleep, a lost network) is found by a ping that nobody answers. */
function keepAlive() {
  if (Date.now() - heardAt < PING_EVERY_MS) return;
  const asked = Date.now();
  const mine = socket;
  send({ type: "ping" });
  setTimeout(() => {
    if (mine !== socket || heardAt >= asked) return;
    mine.close();
    closed(0);
  }, PONG_WITHIN_MS);
}

function stop() {
  for (const name of ["retry", "poll"]) {
    clearTimeout(timers[name]);
    timers[name] = 0;
  }
  clearInterval(timers.ping);
  const mine = socket;
  socket = null;
  mine?.close();
  for (const subscription of subscriptions.values()) subscription.isSent = subscription.wasSent = false;
}

function again() {
  if (!subscriptions.size || connection.state === "signed-out" || socket?.readyState <= WebSocket.OPEN) return;
  failures = 0;
  connect();
}

addEventListener("online", again);
document.addEventListener("visibilitychange", () => { if (!document.hidden) again(); });
addEventListener("pagehide", stop); // an open socket keeps a page out of the back-forward cache
addEventListener("pageshow", ({ persisted }) => {
  if (!persisted) return;
  if (connection.state !== "signed-out") connection.become("connecting");
  startPollingLater();
  again();
});

// -- What it says ----------------------------------------------------------------------------------
function heard(data) {
  heardAt = Date.now();
  if (data instanceof ArrayBuffer) takeBytes(data);
  else take(JSON.parse(data));
}

function take(message) {
  if (message.type === "hint") {
    subscriptions.get(message.via)?.elements.forEach((element) => tell(element, "live:hint", message));
    return;
  }
  const subscription = subscriptions.get(message.subject);
  if (!subscription) return;
  if (message.type === "event") {
    if (subscription.seq !== null && message.seq <= subscription.seq) return;
    subscription.seq = message.seq;
    for (const element of subscription.elements) {
      if (!(Number(element.dataset.seq) >= message.seq)) tell(element, "live:event", message);
    }
  } else if (message.type === "subscribed") {
    subscription.seq ??= message.seq ?? null;
  } else if (message.type === "metrics") {
    subscription.elements.forEach((element) => { if ("metrics" in element.dataset) tell(element, "live:metrics", message); });
  } else if (message.type === "changes") {
    if (message.count <= subscription.changes) return;
    subscription.changes = message.count;
    for (const element of subscription.elements) {
      if (Number(element.dataset.changes) < message.count) tell(element, "live:change");
    }
  } else if (message.type === "refused") {
    subscription.elements.forEach((element) => tell(element, "live:refused", message));
  } else if (message.workload) {
    subscription.followers.get(keyOf(message))?.on[message.type]?.(message);
  }
}

/** Length of the header (4 bytes, big-endian), header (JSON), then bytes of the log. */
function takeBytes(buffer) {
  const length = new DataView(buffer).getUint32(0);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const follower = subscriptions.get(header.subject)?.followers.get(keyOf(header));
  if (!follower) return;
  const bytes = new Uint8Array(buffer, 4 + length);
  const known = follower.offset - header.offset;
  if (known < 0) {
    send(positionOf(follower)); // something is missing in between
    return;
  }
  if (known >= bytes.length) return;
  const offset = follower.offset;
  follower.offset = header.offset + bytes.length;
  follower.on.bytes(bytes.subarray(known), offset);
}

function send(message) {
  if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
}

function positionOf({ log, offset }) {
  return { type: "log", subject: log.subject, workload: log.workload, rank: log.rank, part: log.part, from: offset };
}

const keyOf = ({ workload, rank, part }) => `${workload}/${rank}/${part}`;
const isList = (address) => address.startsWith("project:") || address.startsWith("shared:");
const tell = (element, type, detail) => element.dispatchEvent(new CustomEvent(type, { detail }));
