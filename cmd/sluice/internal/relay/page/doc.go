// Package page is the web page of the live server, with everything that it
// needs: style, scripts and the player are in the binary, so that it works
// where no other host can be reached, and asks none.
//
// [Handler] serves the page at / and its parts below /assets/. The page reads
// /api/streams and /api/clients of the server that it came from, and plays
// /NAME.flv by HTTP or WebSocket; those are not this package's. It may be opened with
// /?stream=APP/NAME, which plays that stream at once, and with &token=TOKEN.
//
// The scripts are modules without a build step, one idea each. Names of
// streams and addresses of clients come from strangers: the page only ever sets
// them as text, and its Content-Security-Policy holds the browser to that.
//
// The package touches no media bytes. A handler may be used from any goroutine
// at any time.
package page
