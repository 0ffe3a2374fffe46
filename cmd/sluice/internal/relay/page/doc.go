// Package page is the web page of the live server, with everything that it needs:
// style, scripts and the player are in the binary. So it works without access to
// other hosts, and contacts none.
//
// [Handler] serves the page at / and its parts below /assets/. The page reads
// /api/streams and /api/clients of the server that it came from, and plays
// /NAME.flv by HTTP or WebSocket; other packages serve those. It may be opened
// with /?stream=APP/NAME, which plays that stream at once, and with &token=TOKEN.
//
// The scripts are modules without a build step, one idea each. Stream names and
// client addresses are untrusted: the page sets them as text only, and its
// Content-Security-Policy makes the browser enforce that.
//
// The package touches no media bytes. A handler is safe for concurrent use.
package page
