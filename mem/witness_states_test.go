package mem

import (
	"fmt"
	"testing"

	"github.com/sluice-go/sluice/internal/sys"
)

// What follows enumerates all interleavings of the atomic steps of witness.go
// for one small block: a filler with a script, and one holder for each cut, who
// releases at any time.

// A wpc is where a process is in its program.
type wpc uint8

const (
	notCut wpc = iota
	holding
	left    // the cell, and has not looked at the witness yet
	looking // for another cell in use
	naming  // it the witness
	checking
	done
	// Of the filler alone:
	choosing // a cell to cut, or the newest in use
	cutting
	reading
	detaching
	detached
	attaching
)

// A wproc is a process of handOver and what leads there: me, i and next are as
// there. Cells are named gen*4+index.
type wproc struct {
	pc          wpc
	me, i, next uint8
}

const (
	wcells   = 3
	wfilling = 255
	wnone    = 0
)

type wcell struct {
	gen  uint8
	live bool
}

// A wstate is one state of all, comparable.
type wstate struct {
	cells    [wcells]wcell
	witness  uint8
	home     bool
	attached bool // a filler has the block
	op       uint8
	at       uint8 // the filler's cell
	filler   wproc
	holders  [4]wproc
	cut      uint8 // how many holders there are
}

func (s *wstate) name(i uint8) uint8 { return s.cells[i].gen<<2 | i }

func (s *wstate) inUse(name uint8) bool { return s.cells[name&3].live && s.name(name&3) == name }

func (s *wstate) goHome() error {
	if s.home {
		return fmt.Errorf("the block goes home twice")
	}
	if s.attached {
		return fmt.Errorf("the block goes home while it is filled")
	}
	for i, c := range s.cells {
		if c.live {
			return fmt.Errorf("the block goes home while cell %d is in use", i)
		}
	}
	s.home = true
	return nil
}

// handOver does the next step of a process that looks for a witness.
func (s *wstate) handOver(p *wproc) error {
	switch p.pc {
	case looking:
		if p.i == 0 {
			p.next, p.pc = wnone, naming
			return nil
		}
		if p.i--; s.cells[p.i].live {
			p.next, p.pc = s.name(p.i), naming
		}
	case naming:
		if s.witness != p.me {
			p.pc = done
			return nil
		}
		s.witness = p.next
		p.pc = checking
		if p.next == wnone {
			p.pc = done
			return s.goHome()
		}
	case checking:
		p.pc = done
		if !s.inUse(p.next) {
			p.me, p.i, p.pc = p.next, p.next&3, looking
		}
	}
	return nil
}

// holder does the next step of holder k.
func (s *wstate) holder(k int) error {
	p := &s.holders[k]
	switch p.pc {
	case holding:
		s.cells[p.me&3].live = false
		p.pc = left
	case left:
		p.pc = done
		if s.witness == p.me {
			p.i, p.pc = p.me&3, looking
		}
	default:
		return s.handOver(p)
	}
	return nil
}

// fill does the next step of the filler. The script's ops are c: cut, p: park
// (or release), u: unpark, t: take from the pool.
func (s *wstate) fill(script string) error {
	p := &s.filler
	next := func() { s.op++; p.pc = notCut }
	switch op := script[s.op]; {
	case p.pc >= looking && p.pc <= checking:
		err := s.handOver(p)
		if p.pc == done {
			next()
		}
		return err
	case op == 'c':
		switch {
		case !s.attached:
			next()
		case p.pc != cutting && s.cells[s.at].live:
			if s.at++; s.at == wcells {
				s.at-- // as if the program had not cut
				next()
			}
		case p.pc != cutting:
			p.pc = cutting
		default:
			s.cells[s.at] = wcell{s.cells[s.at].gen + 1, true}
			s.holders[s.cut] = wproc{pc: holding, me: s.name(s.at)}
			s.cut++
			next()
		}
	case op == 'p':
		switch {
		case p.pc == notCut && !s.attached:
			next()
		case p.pc == notCut: // Shared
			if s.cells[s.at].live {
				p.pc = reading
			} else if s.at > 0 {
				s.at--
			} else {
				s.attached = false
				next()
				return s.goHome()
			}
		case p.pc == reading:
			p.me, p.pc = s.name(s.at), detaching
		case p.pc == detaching:
			s.attached = false
			s.witness = p.me
			p.pc = detached
		default:
			if s.inUse(p.me) {
				next()
			} else {
				p.i, p.pc = p.me&3, looking
			}
		}
	case op == 'u':
		switch {
		case p.pc == notCut && (s.attached || s.witness == wfilling || s.witness == wnone || s.home):
			next()
		case p.pc == notCut:
			p.me, p.pc = s.witness, attaching
		case s.witness != p.me:
			p.pc = notCut
		default:
			s.witness, s.attached, s.at = wfilling, true, p.me&3
			next()
		}
	case op == 't':
		if s.home && !s.attached {
			s.home, s.attached, s.at = false, true, 0
			s.witness = wfilling
			s.cells[0].gen++ // the pool's use of the own cell
		}
		next()
	}
	return nil
}

// explore visits all states that can follow s.
func explore(script string, s wstate, seen map[wstate]bool) error {
	if seen[s] {
		return nil
	}
	seen[s] = true
	moved := false
	if int(s.op) < len(script) {
		n := s
		if err := n.fill(script); err != nil {
			return fmt.Errorf("%w\nfrom %+v", err, s)
		}
		if err := explore(script, n, seen); err != nil {
			return err
		}
		moved = true
	}
	for k := range s.cut {
		if pc := s.holders[k].pc; pc == notCut || pc == done {
			continue
		}
		n := s
		if err := n.holder(int(k)); err != nil {
			return fmt.Errorf("%w\nfrom %+v", err, s)
		}
		if err := explore(script, n, seen); err != nil {
			return err
		}
		moved = true
	}
	if !moved && !s.home {
		return fmt.Errorf("everybody has gone, and the block is not home: %+v", s)
	}
	return nil
}

// TestWitnessSendsTheBlockHomeOnce in every interleaving of every short script.
func TestWitnessSendsTheBlockHomeOnce(t *testing.T) {
	states, scripts := 0, 0
	var walk func(script string, cuts, length int)
	walk = func(script string, cuts, length int) {
		whole := script + "p"
		seen := make(map[wstate]bool)
		s := wstate{witness: wfilling, attached: true}
		if err := explore(whole, s, seen); err != nil {
			t.Fatalf("script %s: %v", whole, err)
		}
		states += len(seen)
		scripts++
		if length == 0 {
			return
		}
		last := byte(0)
		if script != "" {
			last = script[len(script)-1]
		}
		if cuts < 4 && last != 'p' {
			walk(script+"c", cuts+1, length-1)
		}
		switch last {
		case 'c':
			walk(script+"p", cuts, length-1)
		case 'p':
			walk(script+"u", cuts, length-1)
			walk(script+"t", cuts, length-1)
		}
	}
	length := 7
	if testing.Short() || sys.Race {
		length = 5
	}
	walk("", 0, length)
	t.Logf("%d states of %d scripts", states, scripts)
}
