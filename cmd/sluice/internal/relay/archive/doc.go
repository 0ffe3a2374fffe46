// Package archive finds what was recorded: the files of a recorder's directory, what is
// in them, clips of them, and which of them are no longer kept.
//
// It looks at files that a recorder has named, and at no others: it deletes no other
// file, follows no symbolic link, and opens nothing outside the directory. An Archive is
// safe for concurrent use.
package archive
