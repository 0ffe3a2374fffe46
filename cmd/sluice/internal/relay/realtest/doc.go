// Package realtest holds the tests of the relay as people run it: the program
// built from source and started as a process, driven by ffmpeg, ffprobe and a
// headless Chromium, and by small clients of its own that know RTMP, FLV and
// WebSocket from their specifications alone and share no code with the server.
//
// A test starts a server with [ffmpeg]-shaped defaults on ports of the
// system's choosing, and nothing of it outlives the test. What a test must wait
// for it asks for, in the API, in the log or on the socket, within a limit. The
// limits of time and memory that are promised hold for the program as it is
// built for use; under the race detector and with the invariants checked the
// same tests look at what is delivered and leave the figures alone.
//
// The tests run on Linux: memory is read from /proc. Certificates are made by
// the tests. ffmpeg, ffprobe and Chromium are installed by
// scripts/ensure-tools.sh; where one is missing, its tests fail with the name
// of that script.
//
// [ffmpeg]: https://ffmpeg.org/ffmpeg.html
package realtest
