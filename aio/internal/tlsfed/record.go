package tlsfed

// The record layer: RFC 8446, section 5.1, and RFC 5246, section 6.2.
const (
	headerLen = 5
	// MaxRecord is the length in bytes of the longest record with its header. TLS 1.2
	// allows 2 KiB of expansion.
	MaxRecord = headerLen + 16<<10 + 2<<10

	firstType, lastType = 20, 23 // change_cipher_spec, alert, handshake, application_data
	majorVersion        = 3
)

// RecordSize returns how many bytes the record has, with its header, that begins with
// the bytes given; or 0 when those are too few to tell. Of what is no record, or too
// long for one, it returns the length of the header: that is enough for crypto/tls to
// refuse it with the alert that belongs to it. The error is always nil.
func RecordSize(begin []byte) (int, error) {
	if len(begin) < headerLen {
		return 0, nil
	}
	size := headerLen + int(begin[3])<<8 + int(begin[4])
	if begin[0] < firstType || begin[0] > lastType || begin[1] != majorVersion || size > MaxRecord {
		return headerLen, nil
	}
	return size, nil
}
