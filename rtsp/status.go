package rtsp

// Status codes that servers of media use (RFC 2326, section 7.1.1; RFC 7826,
// section 17). Others are allowed.
const (
	StatusContinue               = 100
	StatusOK                     = 200
	StatusMovedPermanently       = 301
	StatusFound                  = 302
	StatusNotModified            = 304
	StatusBadRequest             = 400
	StatusUnauthorized           = 401
	StatusForbidden              = 403
	StatusNotFound               = 404
	StatusMethodNotAllowed       = 405
	StatusNotAcceptable          = 406
	StatusRequestTimeout         = 408
	StatusEntityTooLarge         = 413
	StatusURITooLong             = 414
	StatusUnsupportedMediaType   = 415
	StatusInvalidParameter       = 451
	StatusNotEnoughBandwidth     = 453
	StatusSessionNotFound        = 454
	StatusMethodNotValid         = 455
	StatusHeaderFieldNotValid    = 456
	StatusInvalidRange           = 457
	StatusAggregateNotAllowed    = 459
	StatusOnlyAggregateAllowed   = 460
	StatusUnsupportedTransport   = 461
	StatusDestinationUnreachable = 462
	StatusInternalServerError    = 500
	StatusNotImplemented         = 501
	StatusServiceUnavailable     = 503
	StatusGatewayTimeout         = 504
	StatusVersionNotSupported    = 505
	StatusOptionNotSupported     = 551
)

var statusTexts = map[int]string{
	StatusContinue:               "Continue",
	StatusOK:                     "OK",
	StatusMovedPermanently:       "Moved Permanently",
	StatusFound:                  "Found",
	StatusNotModified:            "Not Modified",
	StatusBadRequest:             "Bad Request",
	StatusUnauthorized:           "Unauthorized",
	StatusForbidden:              "Forbidden",
	StatusNotFound:               "Not Found",
	StatusMethodNotAllowed:       "Method Not Allowed",
	StatusNotAcceptable:          "Not Acceptable",
	StatusRequestTimeout:         "Request Timeout",
	StatusEntityTooLarge:         "Request Entity Too Large",
	StatusURITooLong:             "Request-URI Too Long",
	StatusUnsupportedMediaType:   "Unsupported Media Type",
	StatusInvalidParameter:       "Parameter Not Understood",
	StatusNotEnoughBandwidth:     "Not Enough Bandwidth",
	StatusSessionNotFound:        "Session Not Found",
	StatusMethodNotValid:         "Method Not Valid in This State",
	StatusHeaderFieldNotValid:    "Header Field Not Valid for Resource",
	StatusInvalidRange:           "Invalid Range",
	StatusAggregateNotAllowed:    "Aggregate Operation Not Allowed",
	StatusOnlyAggregateAllowed:   "Only Aggregate Operation Allowed",
	StatusUnsupportedTransport:   "Unsupported Transport",
	StatusDestinationUnreachable: "Destination Unreachable",
	StatusInternalServerError:    "Internal Server Error",
	StatusNotImplemented:         "Not Implemented",
	StatusServiceUnavailable:     "Service Unavailable",
	StatusGatewayTimeout:         "Gateway Timeout",
	StatusVersionNotSupported:    "RTSP Version Not Supported",
	StatusOptionNotSupported:     "Option Not Supported",
}

// StatusText is the usual reason phrase of a status, and for one that is not
// known a word that says nothing, since some peers want one.
func StatusText(status int) string {
	if text, ok := statusTexts[status]; ok {
		return text
	}
	return "Status"
}
