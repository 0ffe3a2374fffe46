package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A file is one that goes into archives and packages.
type file struct {
	name    string // with slashes
	mode    fs.FileMode
	content []byte
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// command runs a program in the current directory, and returns what it prints.
func command(env []string, name string, args ...string) ([]byte, error) {
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), env...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, bytes.TrimSpace(said.Bytes()))
	}
	return out, nil
}

// commitTime is the time of the commit, which all files get.
func commitTime() (time.Time, error) {
	out, err := command(nil, "git", "log", "-1", "--format=%ct")
	if err != nil {
		return time.Time{}, err
	}
	seconds, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("the time of the commit: %w", err)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// build builds the program for a system into a file, static and without paths of this
// machine, and returns it.
func build(to, goos, arch string) ([]byte, error) {
	env := []string{"CGO_ENABLED=0", "GOOS=" + goos, "GOARCH=" + arch, "GOFLAGS=", "GOAMD64=v1", "GOARM64=v8.0"}
	if _, err := command(env, "go", "build", "-buildvcs=true", "-trimpath", "-ldflags=-s", "-o", to, "./cmd/sluice"); err != nil {
		return nil, err
	}
	return os.ReadFile(to)
}

// documents builds the program for this machine, which has to be of the version, and
// returns the texts that go with it.
func documents(temp, version string) ([]file, error) {
	program := filepath.Join(temp, "here")
	if _, err := command([]string{"CGO_ENABLED=0", "GOFLAGS="}, "go", "build", "-buildvcs=true", "-trimpath", "-ldflags=-s", "-o", program, "./cmd/sluice"); err != nil {
		return nil, err
	}
	says, err := command(nil, program, "version")
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(string(says), "sluice "+version+" ") || strings.Contains(string(says), "+changes") {
		return nil, fmt.Errorf("what is checked out builds %q, which is not %s: check out its tag, cmd/%s, without changes", bytes.TrimSpace(says), version, version)
	}
	var list []file
	for to, from := range map[string]string{
		"LICENSE": "LICENSE", "README.md": "README.md", "CHANGELOG.md": "CHANGELOG.md", "relay.md": "docs/relay.md", "sluice.yaml": "docs/sluice.yaml",
		"deploy/sluice.service": "deploy/sluice.service", "deploy/sluice.socket": "deploy/sluice.socket",
		"deploy/nginx.conf": "deploy/nginx.conf", "deploy/haproxy.cfg": "deploy/haproxy.cfg",
	} {
		content, err := os.ReadFile(filepath.FromSlash(from))
		if err != nil {
			return nil, err
		}
		list = append(list, file{to, 0o644, content})
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		content, err := command(nil, program, "completion", shell)
		if err != nil {
			return nil, err
		}
		list = append(list, file{"completion/sluice." + shell, 0o644, content})
	}
	pages := filepath.Join(temp, "man")
	if err := os.Mkdir(pages, 0o755); err != nil {
		return nil, err
	}
	if _, err := command(nil, program, "man", pages); err != nil {
		return nil, err
	}
	names, err := os.ReadDir(pages)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		content, err := os.ReadFile(filepath.Join(pages, name.Name()))
		if err != nil {
			return nil, err
		}
		list = append(list, file{"man/" + name.Name(), 0o644, content})
	}
	slices.SortFunc(list, func(a, b file) int { return strings.Compare(a.name, b.name) })
	return list, nil
}
