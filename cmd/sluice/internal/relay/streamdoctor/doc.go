// Package streamdoctor says why a stream's picture stalls, from what the relay measures:
// whether the encoder has stopped or is too slow, whether the publisher's line, this
// server or the line of a viewer is the reason.
//
// It costs nothing until it is asked: then it looks at one stream, several times a
// second, for as long as a judgement needs. Judge is a function of what was seen.
package streamdoctor
