package listen

// MaxUnsent is how many bytes the kernel takes for a client beyond those that are on their way.
// A viewer of a stream is limited further, by the rate of what it watches.
const MaxUnsent = 64 << 10
