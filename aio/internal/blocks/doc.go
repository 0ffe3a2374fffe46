// Package blocks is the memory that the ready loop reads into: blocks that it lends
// to the program until the next WaitIO (Leased), and blocks that counted references
// are cut from (Counted). Memory is taken when bytes have come.
package blocks
