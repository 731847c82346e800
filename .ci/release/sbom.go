package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// The parts of CycloneDX 1.6 that are used: see cyclonedx.org/docs/1.6/json.
type (
	bom struct {
		Format       string       `json:"bomFormat"`
		Spec         string       `json:"specVersion"`
		Version      int          `json:"version"`
		Metadata     metadata     `json:"metadata"`
		Components   []*component `json:"components"`
		Dependencies []dependency `json:"dependencies"`
	}
	metadata struct {
		Timestamp time.Time  `json:"timestamp"`
		Component *component `json:"component"`
	}
	component struct {
		Type       string     `json:"type"`
		Ref        string     `json:"bom-ref"`
		Name       string     `json:"name"`
		Version    string     `json:"version"`
		URL        string     `json:"purl,omitempty"`
		Hashes     []hash     `json:"hashes,omitempty"`
		Properties []property `json:"properties,omitempty"`
	}
	hash struct {
		Algorithm string `json:"alg"`
		Content   string `json:"content"`
	}
	property struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	dependency struct {
		Ref string   `json:"ref"`
		On  []string `json:"dependsOn"`
	}
)

// writeBOM lists the archives, and the modules that Go has linked into the program in each.
func writeBOM(version string, at time.Time, archives []archive) ([]byte, error) {
	whole := moduleComponent(&debug.Module{Path: name, Version: version})
	list := bom{Format: "CycloneDX", Spec: "1.6", Version: 1, Metadata: metadata{at, whole}}
	modules := map[string]*component{}
	for _, a := range archives {
		c := &component{Type: "application", Ref: a.file, Name: a.file, Version: version, Hashes: []hash{{"SHA-256", a.sum}}}
		needs := dependency{Ref: c.Ref}
		linked := append([]*debug.Module{&a.info.Main, {Path: "std", Version: strings.TrimPrefix(a.info.GoVersion, "go")}}, a.info.Deps...)
		for _, m := range linked {
			if m.Replace != nil {
				return nil, fmt.Errorf("%s: %s is replaced by %s; a release must have what its version names", a.file, m.Path, m.Replace.Path)
			}
			of := moduleComponent(m)
			modules[of.Ref] = of
			needs.On = append(needs.On, of.Ref)
		}
		list.Components = append(list.Components, c)
		list.Dependencies = append(list.Dependencies, needs)
	}
	delete(modules, whole.Ref) // the component that all of it is about
	for _, ref := range slices.Sorted(maps.Keys(modules)) {
		list.Components = append(list.Components, modules[ref])
	}
	text, err := json.MarshalIndent(list, "", "\t")
	return append(text, '\n'), err
}

// moduleComponent is a module with its package URL, and the sum that go.sum has of it.
func moduleComponent(m *debug.Module) *component {
	var escaped []string
	for part := range strings.SplitSeq(m.Path, "/") {
		escaped = append(escaped, url.PathEscape(part))
	}
	at := strings.ToLower("pkg:golang/"+strings.Join(escaped, "/")) + "@" + url.QueryEscape(m.Version) // the specification wants it in lower case
	c := &component{Type: "library", Ref: at, Name: m.Path, Version: m.Version, URL: at}
	if m.Sum != "" {
		c.Properties = []property{{"go:sum", m.Sum}}
	}
	return c
}
