package access

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrBansFile means that the file of bans is damaged, or cannot be read or written.
var ErrBansFile = errors.New("access: file of bans")

// savedBans is the content of the file, as JSON.
type savedBans struct {
	Last int   `json:"last"` // number of the newest id
	Bans []Ban `json:"bans"`
}

// KeepBans reads the bans in a file, and saves every later change in it. The file
// need not exist, but its directory must. Call it once, before the first request.
// An error matches ErrBansFile, and says what is wrong with which file; then the
// file has not been changed. When it is that the disk is full, the bans in the file hold.
func (g *Gate) KeepBans(name string) error {
	l := &g.bans
	if err := l.read(name); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrBansFile, name, err)
	}
	l.mu.Lock()
	now := l.now()
	for id, b := range l.list {
		l.list[id] = b.bounded(now)
	}
	l.expire(now)
	l.mu.Unlock()
	l.file.mu.Lock()
	l.file.name = name
	l.file.mu.Unlock()
	return l.save() // shows now that it can be written
}

// CheckBans returns the error of KeepBans for a file that is damaged, or is in no directory. It
// changes nothing.
func CheckBans(name string) error {
	err := new(bans).read(name)
	if err == nil {
		_, err = os.Stat(filepath.Dir(name))
	}
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrBansFile, name, err)
	}
	return nil
}

func (l *bans) read(name string) error {
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var saved savedBans
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&saved); err != nil {
		return fmt.Errorf("after %d bytes: %w", d.InputOffset(), err)
	}
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("there is something behind the bans, after %d bytes", d.InputOffset())
	}
	if saved.Bans == nil {
		return errors.New("there is no list of bans in it")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list, l.next = map[string]Ban{}, saved.Last
	for i, b := range saved.Bans {
		n, ok := banNumber(b.ID)
		if !ok {
			return fmt.Errorf("ban %d of the list has the id %.20q", i+1, b.ID)
		}
		if _, ok := l.list[b.ID]; ok {
			return fmt.Errorf("the id %s stands there twice", b.ID)
		}
		if err := b.check(); err != nil {
			return fmt.Errorf("ban %s: %w", b.ID, err)
		}
		l.list[b.ID] = b
		l.next = max(l.next, n)
	}
	return nil
}

// SaveBans saves what is not in the file as it is: what could not be saved when it changed, as on a
// disk that was full then, and when the clock was set. An error matches ErrBansFile.
func (g *Gate) SaveBans() error {
	l := &g.bans
	l.file.mu.Lock()
	defer l.file.mu.Unlock()
	l.mu.Lock()
	l.now()
	behind := l.file.behind || l.clock.set
	l.mu.Unlock()
	if !behind || l.file.name == "" {
		return nil
	}
	return l.write()
}

// save replaces the file by one with the bans of this moment.
func (l *bans) save() error {
	l.file.mu.Lock()
	defer l.file.mu.Unlock()
	if l.file.name == "" {
		return nil
	}
	return l.write()
}

// write is save. The file's lock is held.
func (l *bans) write() error {
	l.mu.Lock()
	l.now()
	saved := savedBans{l.next, l.sorted()}
	l.clock.set = false
	l.mu.Unlock()
	text, err := json.MarshalIndent(saved, "", "  ")
	if err == nil {
		err = replaceFile(l.file.name, append(text, '\n'))
	}
	l.file.behind = err != nil
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrBansFile, l.file.name, err)
	}
	return nil
}

// replaceFile writes a file beside the named one, and gives it that name when it
// is on the disk.
func replaceFile(name string, text []byte) (err error) {
	dir := filepath.Dir(name)
	f, err := os.CreateTemp(dir, filepath.Base(name)+".*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync() // not every system can; then the new name may be lost with the power
		_ = d.Close()
	}
	return nil
}
