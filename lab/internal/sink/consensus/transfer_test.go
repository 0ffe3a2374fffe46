package consensus

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// transfer asks a log for records over a pipe.
func transfer(log recordSource, from, to uint64) (got []string, sent, received error) {
	here, there := net.Pipe()
	done := make(chan error, 1)
	go func() {
		defer there.Close()
		done <- sendRecords(there, log)
	}()
	received = receiveRecords(here, from, to, func(records [][]byte) error {
		for _, r := range records {
			got = append(got, string(r))
		}
		return nil
	})
	here.Close()
	return got, <-done, received
}

func TestTransfer(t *testing.T) {
	t.Parallel()
	log := &fakeLog{}
	var all []string
	for n := range 50 {
		p := strings.Repeat(fmt.Sprint(n, " "), n*700) // together more than one batch
		all = append(all, p)
		log.records = append(log.records, []byte(p))
	}
	for _, test := range []struct{ from, to, last uint64 }{
		{1, 50, 50}, {1, 1, 1}, {50, 50, 50}, {17, 30, 30}, {40, 1000, 50}, {51, 60, 50}, {3, 2, 2},
	} {
		got, sent, received := transfer(log, test.from, test.to)
		if want := all[test.from-1 : max(test.last, test.from-1)]; !slices.Equal(got, want) || sent != nil || received != nil {
			t.Errorf("%d to %d: %d records, want %d; %v, %v", test.from, test.to, len(got), len(want), sent, received)
		}
	}
	if _, _, err := transfer(log, 0, 5); err == nil || !strings.Contains(err.Error(), "record 0") {
		t.Errorf("record 0: %v", err)
	}
}

type brokenLog struct{ fakeLog }

func (l *brokenLog) Read(uint64, func(uint64, []byte) error) error {
	return errors.New("that was removed")
}

func TestTransferSaysWhyNot(t *testing.T) {
	t.Parallel()
	got, sent, received := transfer(&brokenLog{fakeLog{records: make([][]byte, 5)}}, 2, 5)
	if len(got) != 0 || sent != nil || received == nil || !strings.Contains(received.Error(), "that was removed") {
		t.Errorf("%q, %v, %v", got, sent, received)
	}
}

// What comes from a node that is none is an error, and what came before is kept.
func TestTransferFromAStranger(t *testing.T) {
	t.Parallel()
	record := func(p string) []byte {
		return append(binary.BigEndian.AppendUint32(nil, uint32(len(p))), p...)
	}
	for name, answer := range map[string][]byte{
		"nothing":          nil,
		"cut":              append(record("one"), 0, 0, 0, 9, 'x'),
		"too long":         append(record("one"), 0x7f, 0xff, 0xff, 0xff),
		"more than asked":  slices.Concat(record("one"), record("two"), record("three")),
		"end without text": {0xff, 0xff, 0xff, 0xff},
		"HTTP":             []byte("HTTP/1.1 400 Bad Request\r\n\r\n"),
	} {
		here, there := net.Pipe()
		go func() {
			defer there.Close()
			io.ReadFull(there, make([]byte, 16))
			there.Write(answer)
		}()
		count := 0
		err := receiveRecords(here, 1, 2, func(records [][]byte) error { count += len(records); return nil })
		here.Close()
		if err == nil || count > 2 {
			t.Errorf("%s: %d records, %v", name, count, err)
		}
	}
}

// Whoever connects to a node without being one disturbs nobody.
func TestStrangersOnTheRaftPort(t *testing.T) {
	t.Parallel()
	c := newCluster(t, nil)
	c.start(0, 1, 2)
	l := newLedger()
	c.mustPut(l, "before")
	for _, hello := range []string{"", "X", "R", "RRRR", "R\xff\xff\xff", "GET / HTTP/1.1\r\n\r\n", "W", "W" + strings.Repeat("\xff", 16), "W" + strings.Repeat("\x00", 16)} {
		for _, p := range c.peers {
			conn, err := net.DialTimeout("tcp", p.Addr, limit)
			if err != nil {
				t.Fatal(err)
			}
			conn.SetDeadline(time.Now().Add(limit))
			io.WriteString(conn, hello)
			conn.(*net.TCPConn).CloseWrite()
			if _, err := io.Copy(io.Discard, conn); errors.Is(err, net.ErrClosed) {
				t.Errorf("%q: %v", hello, err)
			}
			conn.Close()
		}
	}
	c.mustPut(l, "after")
	c.check(l)
}

// Many connections that say nothing are refused, and let the nodes find each other.
func TestSilentStrangers(t *testing.T) {
	t.Parallel()
	s, err := listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.patience = introduction / 10
	served := make(chan []byte, 1)
	s.start(func(c net.Conn) {
		b := make([]byte, 1)
		io.ReadFull(c, b)
		served <- b
	})
	defer s.Close()
	var refused net.Conn
	for range maxStreams + 1 {
		conn, err := net.Dial("tcp", s.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		refused = conn
	}
	refused.SetReadDeadline(time.Now().Add(limit))
	if _, err := refused.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("one connection too many: %v", err)
	}
	// They are sent away after a while.
	eventually(t, func() string {
		conn, err := s.dial(s.Addr().String(), introduction, forRecords)
		if err != nil {
			return err.Error()
		}
		defer conn.Close()
		if _, err := conn.Write([]byte("y")); err != nil {
			return err.Error()
		}
		select {
		case b := <-served:
			if !bytes.Equal(b, []byte("y")) {
				return fmt.Sprintf("it heard %q", b)
			}
			return ""
		case <-time.After(introduction / 10):
			return "nobody answers"
		}
	})
	s.Close()
	s.running.Wait()
}

// A length is a claim: memory follows the bytes that come.
func TestARecordThatIsOnlyClaimed(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := readRecord(strings.NewReader("little"), MaxBatch)
	runtime.ReadMemStats(&after)
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 1<<20 {
		t.Errorf("%d bytes were allocated for 6", grown)
	}
	for _, n := range []int{0, 1, 64 << 10, 200_000} {
		want := bytes.Repeat([]byte{7}, n)
		if got, err := readRecord(bytes.NewReader(append(want, 1)), n); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes: %d, %v", n, len(got), err)
		}
	}
}
