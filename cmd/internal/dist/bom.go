package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// component is one of CycloneDX 1.5.
type component struct {
	Type    string `json:"type"`
	Ref     string `json:"bom-ref"`
	Name    string `json:"name"`
	Version string `json:"version"`
	URL     string `json:"purl,omitempty"`
}

// billOfMaterials returns what a program was built from, as CycloneDX: its modules, by
// what Go has written into it, and Go itself.
func billOfMaterials(program []byte, number string, when time.Time) ([]byte, error) {
	info, err := buildinfo.Read(bytes.NewReader(program))
	if err != nil {
		return nil, err
	}
	golang := func(kind, name, version string) component {
		url := fmt.Sprintf("pkg:golang/%s@%s", name, version)
		return component{kind, url, name, version, url}
	}
	components := []component{golang("library", "std", strings.TrimPrefix(info.GoVersion, "go"))}
	for _, m := range info.Deps {
		if m.Path == "github.com/sluice-go/sluice" {
			// In the workspace of a release it is the tree of the same tag.
			components = append(components, golang("library", m.Path, "v"+number))
			continue
		}
		if m.Replace != nil {
			m = m.Replace
		}
		components = append(components, golang("library", m.Path, m.Version))
	}
	bom := map[string]any{
		"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
		"metadata": map[string]any{
			"timestamp": when.Format(time.RFC3339),
			"component": golang("application", info.Main.Path+"/sluice", "v"+number),
		},
		"components": components,
	}
	text, err := json.MarshalIndent(bom, "", "  ")
	return append(text, '\n'), err
}
