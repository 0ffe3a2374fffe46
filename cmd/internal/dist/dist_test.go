package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

var (
	testTime  = time.Unix(1_700_000_000, 0).UTC()
	testTexts = []file{{"LICENSE", 0o644, []byte("free")}, {"sluice.yaml", 0o644, []byte("a: b\n")}, {"man/sluice.1", 0o644, []byte(".TH")}, {"deploy/sluice.service", 0o644, []byte("[Unit]")}, {"deploy/nginx.conf", 0o644, nil}}
)

func TestArchives(t *testing.T) {
	files := []file{{"a/sluice", 0o755, []byte("program")}, {"a/b/c", 0o644, []byte("text")}}
	packed, err := tarball(files, testTime)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		content, _ := io.ReadAll(r)
		if !h.ModTime.Equal(testTime) {
			t.Errorf("%s is of %v", h.Name, h.ModTime)
		}
		found = append(found, h.FileInfo().Mode().String()+" "+h.Name+" "+string(content))
	}
	if got, want := strings.Join(found, "|"), "drwxr-xr-x a/ |-rwxr-xr-x a/sluice program|drwxr-xr-x a/b/ |-rw-r--r-- a/b/c text"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	packed, err = zipped(files, testTime)
	if err != nil {
		t.Fatal(err)
	}
	r, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	if err != nil || len(r.File) != 2 || r.File[0].Name != "a/sluice" || r.File[0].Mode() != 0o755 || !r.File[0].Modified.Equal(testTime) {
		t.Errorf("%v %+v", err, r)
	}
	again, err := zipped(files, testTime)
	if err != nil || !bytes.Equal(again, packed) {
		t.Errorf("the second time it is another archive: %v", err)
	}
}

// dpkg reads the package, and finds in it what belongs there.
func TestDebianPackage(t *testing.T) {
	deb, err := debian([]byte("program"), "0.2.0", "amd64", testTexts, testTime)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(deb, []byte("!<arch>\ndebian-binary   1700000000  0     0     100644  4         `\n2.0\ncontrol.tar.gz  ")) {
		t.Errorf("%q", deb[:100])
	}
	dpkg, err := exec.LookPath("dpkg-deb")
	if err != nil {
		t.Skip("there is no dpkg-deb here")
	}
	name := filepath.Join(t.TempDir(), "a.deb")
	if err := os.WriteFile(name, deb, 0o600); err != nil {
		t.Fatal(err)
	}
	for option, wants := range map[string][]string{
		"--info":     {"Package: sluice", "Version: 0.2.0", "Architecture: amd64", "conffiles", "postinst", "postrm", "prerm"},
		"--contents": {"-rwxr-xr-x root/root", "./usr/bin/sluice", "./etc/sluice/sluice.yaml", "./usr/lib/systemd/system/sluice.service", "./usr/share/man/man1/sluice.1.gz", "./usr/share/doc/sluice/copyright", "./usr/share/doc/sluice/changelog.gz"},
	} {
		out, err := exec.CommandContext(t.Context(), dpkg, option, name).CombinedOutput()
		for _, want := range wants {
			if err != nil || !strings.Contains(strings.ReplaceAll(string(out), "0/0", "root/root"), want) {
				t.Errorf("%s: %v, no %q in %s", option, err, want, out)
			}
		}
	}
	if out, err := exec.CommandContext(t.Context(), dpkg, "--extract", name, t.TempDir()).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// The bill of materials of this very program, since any has the same form.
func TestBillOfMaterials(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	text, err := billOfMaterials(program, "0.2.0", testTime)
	if err != nil {
		t.Fatal(err)
	}
	var bom struct {
		BOMFormat, SpecVersion string
		Components             []component
	}
	if err := json.Unmarshal(text, &bom); err != nil || bom.BOMFormat != "CycloneDX" || bom.SpecVersion != "1.5" || len(bom.Components) < 1 {
		t.Fatalf("%v: %s", err, text)
	}
	if c := bom.Components[0]; c.URL != "pkg:golang/std@"+strings.TrimPrefix(runtime.Version(), "go") {
		t.Errorf("%+v", c)
	}
	if _, err := billOfMaterials([]byte("no program"), "0.2.0", testTime); err == nil {
		t.Error("no error for what is no program")
	}
}

func TestWrongArguments(t *testing.T) {
	for _, args := range [][]string{nil, {"v0.2.0"}, {"0.2.0", "dist"}, {"v0.2", "dist"}} {
		if err := run(args, systems); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}
