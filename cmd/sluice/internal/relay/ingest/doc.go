// Package ingest makes frames of what arrives as RTMP messages, from publishers
// and from origins.
package ingest
