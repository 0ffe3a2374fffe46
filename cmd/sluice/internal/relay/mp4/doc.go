// Package mp4 writes and reads the fragmented MP4 files of recordings (ISO/IEC
// 14496-12): a header, then for each fragment the time of day (prft), the table
// of its samples (moof) and their bytes (mdat).
//
// A file is readable up to its last whole fragment. Scan finds the fragments of a
// file, also of one that is being written; a Clip is a part of one file or of several
// with the same header, with times that begin at its beginning.
//
// Bytes that functions take are borrowed until they return. Nothing here is safe for
// concurrent use except where it says so.
package mp4
