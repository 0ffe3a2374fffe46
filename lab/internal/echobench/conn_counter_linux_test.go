package echobench

import (
	"strings"
	"sync"
	"testing"
	"time"
)

func TestDrainedWaitsForTheLast(t *testing.T) {
	c := new(ConnCounter)
	if err := c.Drained(0); err != nil {
		t.Fatalf("of no connections: %v", err)
	}
	for round := range 3 {
		for range 100 {
			c.Add(1)
		}
		done := make(chan error, 1)
		go func() { done <- c.Drained(time.Minute) }()
		var closing sync.WaitGroup
		for range 99 {
			closing.Go(func() { c.Add(-1) })
		}
		closing.Wait()
		select {
		case err := <-done:
			t.Fatalf("round %d: over with %d connections: %v", round, c.Load(), err)
		default:
		}
		c.Add(-1)
		if err := <-done; err != nil || c.Load() != 0 {
			t.Errorf("round %d: %d open, %v", round, c.Load(), err)
		}
	}
}

func TestDrainedSaysHowManyStay(t *testing.T) {
	c := new(ConnCounter)
	c.Add(1)
	c.Add(-1) // has said that there is none
	c.Add(1)
	c.Add(1)
	if err := c.Drained(time.Millisecond); err == nil || !strings.Contains(err.Error(), "2 connections") {
		t.Error(err)
	}
}
