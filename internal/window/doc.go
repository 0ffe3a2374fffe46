// Package window holds what a reader has received and not consumed: one
// ordered sequence of counted pieces, of which the first is a contiguous view.
// It does not read, wait or allocate blocks: the caller gives it bytes and
// blocks. Its test uses a []byte as the model.
//
//	consumed      mark?       front: contiguous           further pieces
//	---------|------------|R=================W|room|   [=====] [===] [==|room]
//	                       ^ Advance           ^ Filled             ^ Filled
//
// Room is free memory behind the last byte, where the next read goes: in the
// front's block, or in the last piece's when there are further ones.
//
// Blocks and Bufs that are given to a Window are transferred. What Cut and
// Take return is retained, what View returns borrowed until the next change.
package window
