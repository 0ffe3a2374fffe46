// Package op has the operations of aio as every driver knows them: what is
// submitted, what completes, and what a driver counts. It carries nothing out.
package op
