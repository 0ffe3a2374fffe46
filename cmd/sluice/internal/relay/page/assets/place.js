// Asks a server of a cluster where to connect for a stream. A WebSocket needs this, because
// browsers follow no redirect of one.
const within = 5000; // ms

// placed returns the address to connect to in place of a WebSocket's: that of a node with
// room, or the same. It throws when the server does not answer.
export async function placed(url) {
  const question = new URL(url);
  question.protocol = question.protocol.replace("ws", "http");
  question.searchParams.set("where", "1");
  const abort = new AbortController();
  const late = setTimeout(() => abort.abort(), within);
  try {
    const response = await fetch(question, { signal: abort.signal, cache: "no-store" });
    // A refusal comes again over the WebSocket; a server of an older version sends the stream.
    if (!response.ok || response.headers.get("Content-Type") !== "application/json") return url;
    const { url: other } = await response.json();
    return other ? other.replace(/^http/, "ws") : url;
  } finally {
    clearTimeout(late);
    abort.abort();
  }
}
