package main

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// systems are those that there are programs for.
var systems = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64"}

var versionForm = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+$`)

func main() {
	only := flag.String("only", strings.Join(systems, ","), "make those for these `systems`")
	flag.Parse()
	if err := run(flag.Args(), strings.Split(*only, ",")); err != nil {
		fmt.Fprintf(os.Stderr, "dist: %v\n", err)
		os.Exit(1)
	}
}

func run(args, only []string) error {
	if len(args) != 2 || !versionForm.MatchString(args[0]) {
		return fmt.Errorf("want a version and a directory, such as v0.2.0 dist, got %q", args)
	}
	version, dir := args[0], args[1]
	temp, err := os.MkdirTemp("", "sluice-dist-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	when, err := commitTime()
	if err != nil {
		return err
	}
	texts, err := documents(temp, version)
	if err != nil {
		return err
	}
	made := map[string][]byte{}
	for _, system := range only {
		if !slices.Contains(systems, system) {
			return fmt.Errorf("no system is called %q; there are %s", system, strings.Join(systems, ", "))
		}
		if err := makeSystem(made, temp, system, version, when, texts); err != nil {
			return fmt.Errorf("%s: %w", system, err)
		}
	}
	var sums strings.Builder
	names := sortedKeys(made)
	for _, name := range names {
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(made[name]), name)
	}
	made["SHA256SUMS"] = []byte(sums.String())
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, content := range made {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// makeSystem adds the files for one system to made.
func makeSystem(made map[string][]byte, temp, system, version string, when time.Time, texts []file) error {
	goos, arch, _ := strings.Cut(system, "/")
	program, err := build(filepath.Join(temp, goos+"-"+arch), goos, arch)
	if err != nil {
		return err
	}
	number := strings.TrimPrefix(version, "v")
	stem := "sluice-" + number + "-" + goos + "-" + arch
	name := "sluice"
	pack, suffix := tarball, ".tar.gz"
	if goos == "windows" {
		name, pack, suffix = "sluice.exe", zipped, ".zip"
	}
	content := append([]file{{name, 0o755, program}}, texts...)
	for i := range content {
		content[i].name = stem + "/" + content[i].name
	}
	if made[stem+suffix], err = pack(content, when); err != nil {
		return err
	}
	if made[stem+".cdx.json"], err = billOfMaterials(program, number, when); err != nil {
		return err
	}
	if goos == "linux" {
		if made["sluice_"+number+"_"+arch+".deb"], err = debian(program, number, arch, texts, when); err != nil {
			return err
		}
	}
	return nil
}
