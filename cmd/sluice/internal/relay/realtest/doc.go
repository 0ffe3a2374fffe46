// Package realtest holds the tests of the relay as people run it: the program
// built from source and started as a process, driven by ffmpeg, ffprobe and a
// headless Chromium, and by small clients of its own that know RTMP, FLV and
// WebSocket from their specifications alone and share no code with the server.
//
// A test starts a server with [ffmpeg]-shaped defaults on ports that the system
// chooses, and stops it at its end. A test waits for events in the API, in the
// log or on the socket, within a time limit. Limits of time and memory are
// checked in the normal build only; under the race detector and with invariants
// the same tests check only what is delivered.
//
// The tests run on Linux: memory is read from /proc. Certificates are made by
// the tests. ffmpeg, ffprobe and Chromium are installed by
// scripts/ensure-tools.sh; where one is missing, its tests fail with the name
// of that script.
//
// [ffmpeg]: https://ffmpeg.org/ffmpeg.html
package realtest
