package main

import (
	"bytes"
	"compress/gzip"
	"crypto/md5"
	"fmt"
	"path"
	"strings"
	"time"
)

const debianControl = `Package: sluice
Version: %s
Architecture: %s
Maintainer: The Sluice authors <sluice@users.noreply.github.com>
Installed-Size: %d
Section: video
Priority: optional
Homepage: https://github.com/sluice-go/sluice
Description: live relay
 Encoders publish to it by RTMP, RTSP, HTTP and others, players watch over as
 many. Nothing is transcoded. systemctl enable --now sluice starts it; its
 settings are in /etc/sluice/sluice.yaml.
`

const debianChangelog = `sluice (%s) unstable; urgency=medium

  * What changed: https://github.com/sluice-go/sluice/blob/v%[1]s/CHANGELOG.md

 -- The Sluice authors <sluice@users.noreply.github.com>  %[2]s
`

// The service ends with the program that it runs; recordings stay. An update leaves it
// running: systemctl reload, kill -s USR2 or restart is the operator's choice.
const (
	debianPrerm = `#!/bin/sh
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
	deb-systemd-invoke stop sluice.socket sluice.service >/dev/null || true
fi
`
	debianPostrm = `#!/bin/sh
set -e
if [ "$1" = purge ]; then
	rm -f /etc/systemd/system/multi-user.target.wants/sluice.service /etc/systemd/system/sockets.target.wants/sluice.socket
fi
if [ -d /run/systemd/system ]; then
	systemctl --system daemon-reload >/dev/null || true
fi
`
	debianPostinst = `#!/bin/sh
set -e
if [ "$1" = configure ] && [ -d /run/systemd/system ]; then
	systemctl --system daemon-reload >/dev/null || true
fi
`
)

// debian returns a package for Debian and its kin (deb(5)): an archive of a version
// number, of what describes it, and of what it installs.
func debian(program []byte, number, arch string, texts []file, when time.Time) ([]byte, error) {
	changelog, err := gzipped([]byte(fmt.Sprintf(debianChangelog, number, when.Format(time.RFC1123Z))))
	if err != nil {
		return nil, err
	}
	installed := []file{
		{"./usr/bin/sluice", 0o755, program},
		{"./usr/share/doc/sluice/changelog.gz", 0o644, changelog},
		{"./usr/share/lintian/overrides/sluice", 0o644, []byte("sluice: statically-linked-binary [usr/bin/sluice]\n")},
	}
	for _, f := range texts {
		to := ""
		switch {
		case f.name == "sluice.yaml":
			to = "./etc/sluice/sluice.yaml"
		case f.name == "LICENSE":
			to = "./usr/share/doc/sluice/copyright"
		case strings.HasPrefix(f.name, "man/"):
			to = "./usr/share/man/man1/" + path.Base(f.name) + ".gz"
			if f.content, err = gzipped(f.content); err != nil {
				return nil, err
			}
		case f.name == "completion/sluice.bash":
			to = "./usr/share/bash-completion/completions/sluice"
		case f.name == "completion/sluice.zsh":
			to = "./usr/share/zsh/vendor-completions/_sluice"
		case f.name == "completion/sluice.fish":
			to = "./usr/share/fish/vendor_completions.d/sluice.fish"
		case strings.HasSuffix(f.name, ".service"), strings.HasSuffix(f.name, ".socket"):
			to = "./usr/lib/systemd/system/" + path.Base(f.name)
		default:
			continue
		}
		installed = append(installed, file{to, 0o644, f.content})
	}
	size := 0
	var sums strings.Builder
	for _, f := range installed {
		size += len(f.content)
		fmt.Fprintf(&sums, "%x  %s\n", md5.Sum(f.content), strings.TrimPrefix(f.name, "./"))
	}
	control, err := tarball([]file{
		{"./conffiles", 0o644, []byte("/etc/sluice/sluice.yaml\n")},
		{"./control", 0o644, []byte(fmt.Sprintf(debianControl, number, arch, (size+1023)/1024))},
		{"./md5sums", 0o644, []byte(sums.String())},
		{"./postinst", 0o755, []byte(debianPostinst)},
		{"./postrm", 0o755, []byte(debianPostrm)},
		{"./prerm", 0o755, []byte(debianPrerm)},
	}, when)
	if err != nil {
		return nil, err
	}
	data, err := tarball(installed, when)
	if err != nil {
		return nil, err
	}
	return ar([]file{{"debian-binary", 0o644, []byte("2.0\n")}, {"control.tar.gz", 0o644, control}, {"data.tar.gz", 0o644, data}}, when), nil
}

// gzipped returns text as Debian has its documentation.
func gzipped(text []byte) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(text); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// ar returns an archive in the form of ar(5).
func ar(files []file, when time.Time) []byte {
	b := bytes.NewBufferString("!<arch>\n")
	for _, f := range files {
		fmt.Fprintf(b, "%-16s%-12d%-6d%-6d%-8s%-10d`\n", f.name, when.Unix(), 0, 0, "100644", len(f.content))
		b.Write(f.content)
		if len(f.content)%2 == 1 {
			b.WriteByte('\n')
		}
	}
	return b.Bytes()
}
