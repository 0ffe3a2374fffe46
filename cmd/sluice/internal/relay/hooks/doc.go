// Package hooks calls other servers by HTTP: an Admission asks one whether a
// session is admitted, and Events report to one what happens, at least once and in
// order, from a spool on disk.
//
// The package touches no payload bytes. Its types are safe for concurrent use.
package hooks
