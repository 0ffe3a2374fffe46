// Package realtest holds the tests of a diagnosis on programs that run: some with one
// fault each, of the kind that programs have, in Go here and in C in testdata, the same
// programs in Go without it, and healthy ones.
//
// Those in Go are this test, built as a program: they run as foreign programs do, in a
// process of their own. They are no pattern to follow, and the rules of a diagnosis know
// nothing of them.
package realtest
