// Package ownership is an analyzer that follows borrowed, retained and
// transferred memory: of package sluice, and of bufio, sync.Pool and other
// libraries that lend what they read.
//
// It reports what is used after the call that ends it, what is stored or
// returned where it outlives that, and references that are not released on some
// path, released twice, copied, or used after they were transferred. It says
// nothing where it cannot tell.
package ownership

const doc = `check the ownership of borrowed, retained and pooled memory

Reports borrowed bytes that are used after the call that ends them, or stored
where they outlive it; references that are not released on some path, released
twice, copied, or used after they were transferred; and memory that is used
after it was put into a pool.`
