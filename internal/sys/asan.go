//go:build asan

package sys

// Asan says whether the address sanitizer is compiled in. With it the compiler
// puts every variable whose address becomes an unsafe.Pointer on the heap, so
// that system calls and package reflect allocate.
const Asan = true
