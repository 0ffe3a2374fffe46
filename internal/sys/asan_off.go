//go:build !asan

package sys

// Asan says whether the address sanitizer is compiled in.
const Asan = false
