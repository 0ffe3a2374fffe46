// Package realtest holds the tests of the sink as people run it: the program
// built from source and started as processes, put under load over TCP, and killed
// with SIGKILL at random moments. What clients were acknowledged is then held
// against what lab sink verify finds in the directories.
//
// The clients are the tests' own, with payloads that all differ; lab load takes
// part too. Nothing outlives a test. The seed of what is random is in its log, and
// SLUICE_SINK_SEED sets it; SLUICE_SINK_SOAK, a duration such as 10m, makes the
// tests named Soak kill for so long, which make soak does.
//
// kill -9 is not a power cut: the kernel lives on with everything that was
// written. What a power cut would take is cut off files by hand here, and only where
// the sink promises to get over it.
//
// The tests run on Linux.
package realtest
