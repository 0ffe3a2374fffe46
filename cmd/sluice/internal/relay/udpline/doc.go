// Package udpline finds out what the line of a viewer over UDP carries, from its reports of
// losses, and makes what is sent wait for that. It knows no protocol: a packet is a number of
// bytes, a report two numbers.
package udpline
