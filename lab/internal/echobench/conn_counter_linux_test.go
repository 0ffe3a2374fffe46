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
			c.Opened()
		}
		done := make(chan error, 1)
		go func() { done <- c.Drained(time.Minute) }()
		var closing sync.WaitGroup
		for range 99 {
			closing.Go(c.Closed)
		}
		closing.Wait()
		select {
		case err := <-done:
			t.Fatalf("round %d: over with %d connections: %v", round, c.Open(), err)
		default:
		}
		c.Closed()
		if err := <-done; err != nil || c.Open() != 0 {
			t.Errorf("round %d: %d open, %v", round, c.Open(), err)
		}
	}
}

func TestDrainedSaysHowManyStay(t *testing.T) {
	c := new(ConnCounter)
	c.Opened()
	c.Closed() // has said that there is none
	c.Opened()
	c.Opened()
	if err := c.Drained(time.Millisecond); err == nil || !strings.Contains(err.Error(), "2 connections") {
		t.Error(err)
	}
}
