// Package ingest converts RTMP messages from publishers and origins into frames.
package ingest
