// The server's API. Paths are of the server that the page came from.

import { path } from "./lines.js";

const key = "sluice.api-token";

export class APIError extends Error {
  constructor(status, text) {
    super(text);
    this.status = status; // 0: no answer
  }
  get refused() {
    return this.status === 401 || this.status === 403;
  }
}

let token = "";
try {
  token = sessionStorage.getItem(key) ?? "";
} catch { /* storage may be forbidden: the token is then asked for again */ }

export function setToken(t) {
  token = t;
  try {
    sessionStorage.setItem(key, t);
  } catch { /* as above */ }
}

// refusal says why the API refused: for a wrong token, or for none.
export const refusal = (why) => (token ? `The server does not take the token that was given. ${why}` : why);

let refused = false; // a request, for the token

// guarded reports whether the API is for those with a token.
export const guarded = () => refused || token !== "";

// ask sends a request that may take ten seconds, and returns what it says.
async function ask(method, path, body) {
  const text = await send(method, path, body);
  try {
    return text ? JSON.parse(text) : null;
  } catch {
    return null; // a proxy's page, say
  }
}

async function send(method, path, body) {
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  if (body) headers["Content-Type"] = "application/json";
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), 10_000);
  try {
    const response = await fetch(path, { method, headers, body: body && JSON.stringify(body), signal: abort.signal, cache: "no-store", mode: "same-origin" });
    const text = await response.text();
    if (response.ok) return text;
    refused ||= response.status === 401;
    let answer = null;
    try {
      answer = JSON.parse(text);
    } catch { /* the status tells */ }
    throw new APIError(response.status, answer?.error ?? `The server answered with status ${response.status}.`);
  } catch (err) {
    if (err instanceof APIError) throw err;
    throw new APIError(0, "The server does not answer.");
  } finally {
    clearTimeout(timer);
  }
}

// text is what a GET of the path answers.
export const text = (path) => send("GET", path);
export const streams = (history) => ask("GET", history ? "/api/streams?history=1" : "/api/streams");
// rewind asks as a viewer from when on a stream was recorded.
export const rewind = (stream, play) => ask("GET", `/api/rewind?${new URLSearchParams(play ? { stream, token: play } : { stream })}`);
// doctor looks at a stream for four seconds.
export const doctor = (stream) => ask("GET", `/api/streams/${path(stream)}/doctor`);
export const clients = async () => (await ask("GET", "/api/clients"))?.clients ?? [];
// kick ends a session; with ban = {ban: time, by} it also bans it.
export const kick = (id, ban) => ask("DELETE", `/api/clients/${encodeURIComponent(id)}${ban ? `?${new URLSearchParams(ban)}` : ""}`);
export const bans = async () => (await ask("GET", "/api/bans"))?.bans ?? [];
export const ban = (what) => ask("POST", `/api/bans?${new URLSearchParams(what)}`);
export const lift = (id) => ask("DELETE", `/api/bans/${encodeURIComponent(id)}`);
// on is the query for what is on a node of a cluster.
const on = (node) => (node ? `?${new URLSearchParams({ node })}` : "");

export const pushes = () => ask("GET", "/api/pushes");
export const addPush = (target) => ask("POST", "/api/pushes", target);
export const removePush = (id, node) => ask("DELETE", `/api/pushes/${encodeURIComponent(id)}${on(node)}`);
export const recordings = () => ask("GET", "/api/recordings?limit=200");
export const record = (stream, begin) => ask(begin ? "POST" : "DELETE", `/api/recordings?${new URLSearchParams({ stream })}`);
export const deleteRecording = (file, node) => ask("DELETE", `/api/recordings/${file.split("/").map(encodeURIComponent).join("/")}${on(node)}`);
export const events = (after) => ask("GET", `/api/events?${new URLSearchParams({ after })}`);
export const makeToken = (what) => ask("POST", `/api/tokens?${new URLSearchParams(what)}`);
export const config = () => ask("GET", "/assets/config.json");
