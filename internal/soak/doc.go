// Package soak watches a process while a test works it for long, and judges what it
// saw: memory, goroutines, descriptors and blocks that grow although the work does not.
//
// A soak test asks for its Length, which skips it unless SLUICE_SOAK names one, begins a
// Watch, works, and ends the Watch. The curves are written as a page into the directory
// that SLUICE_SOAK_PAGES names.
package soak
