// Asks a server what browsers keep from the page: of a cluster where to connect for a stream, as
// they follow no redirect of a WebSocket and send no token after one of WebRTC; and why a WebSocket
// was refused.
const within = 5000; // ms
const otherWithin = 2000; // of a server that may not be within reach

// placed returns the address to connect to in place of a WebSocket's or WHEP's: that of a
// node with room, or the same. other: it is not of the server of the page. It throws when the
// server does not answer.
export async function placed(url, other) {
  const question = new URL(url);
  question.protocol = question.protocol.replace("ws", "http");
  question.searchParams.set("where", "1");
  const abort = new AbortController();
  const late = setTimeout(() => abort.abort(), other ? otherWithin : within);
  try {
    const response = await fetch(question, { signal: abort.signal, cache: "no-store" });
    // A refusal comes again at url; a server of an older version sends the stream.
    if (!response.ok || response.headers.get("Content-Type") !== "application/json") return url;
    const { url: to } = await response.json();
    return to ? to.replace(/^http/, url.startsWith("ws") ? "ws" : "http") : url;
  } finally {
    clearTimeout(late);
    abort.abort();
  }
}

// refused returns the status with which a WebSocket's address is refused; 0 when it is not. It throws
// when the server does not answer.
export async function refused(url) {
  const { ok, status } = await fetch(url.replace(/^ws/, "http"), { method: "HEAD", signal: AbortSignal.timeout(within), cache: "no-store" });
  return ok ? 0 : status;
}
