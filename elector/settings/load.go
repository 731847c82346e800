package settings

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/recount-io/recount/internal/spelling"
)

// FileVariable names the file in the environment.
const FileVariable = "ELECT_CONFIG"

// foreign are names that begin like ours and are none of our settings: the
// file's, and what a job of cmd/elect finds in its environment.
var foreign = []string{FileVariable, "ELECT_TOKEN", "ELECT_CANDIDATE"}

// Sources are where settings come from, the strongest first.
type Sources struct {
	// Flags are the values that were given on the command line, by the flag's
	// name without dashes. Each has at least one.
	Flags map[string][]string

	// Environ is the environment, as os.Environ returns it. An empty variable
	// counts as not set: that is how many a tool unsets one.
	Environ []string

	// File is the path of the YAML file, or empty; then ELECT_CONFIG is.
	File string

	_ struct{}
}

// Load reads the settings. Its error is an *Error, or says that the file cannot
// be read. What it returns need not be complete: see Settings.Validate.
func Load(from Sources) (Settings, error) {
	env := environment(from.Environ)
	var s Settings
	path := from.File
	if path == "" {
		path = env[FileVariable]
	}
	steps := []func() error{
		func() error { return s.readFile(path) },
		func() error { return s.readEnvironment(env) },
		func() error { return s.readFlags(from.Flags) },
		func() error { return s.expand(env) },
		func() error { return s.readPod(env) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return Settings{}, err
		}
	}
	return s.withPreset(), nil
}

func environment(environ []string) map[string]string {
	env := make(map[string]string, len(environ))
	for _, pair := range environ {
		if name, value, ok := strings.Cut(pair, "="); ok && value != "" {
			env[name] = value
		}
	}
	return env
}

// apply sets a field and notes where its value stands.
func (s *Settings) apply(f *field, source string, values []string) error {
	if err := f.set(s, values); err != nil {
		return &Error{f.name, source, err.Error()}
	}
	s.from(f.name, source)
	return nil
}

// readEnvironment takes what begins with ELECT_. A name that is none of ours is
// somebody else's, unless it looks like a slip: Kubernetes, say, sets
// ELECT_SERVICE_HOST and more for a service called "elect".
func (s *Settings) readEnvironment(env map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if !strings.HasPrefix(name, envPrefix) || slices.Contains(foreign, name) {
			continue
		}
		f := find(func(f *field) bool { return variable(f.name) == name })
		if f == nil {
			if near := nearest(name, variable); near != "" {
				return &Error{name, "the environment", "there is no such setting: did you mean " + near + "?"}
			}
			continue
		}
		values := []string{env[name]}
		if f.kind == Texts {
			values = strings.Fields(env[name])
		}
		if err := s.apply(f, name, values); err != nil {
			return err
		}
	}
	return nil
}

func (s *Settings) readFlags(flags map[string][]string) error {
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		f := find(func(f *field) bool { return f.name == name })
		if f == nil || len(flags[name]) == 0 {
			return &Error{name, "--" + name, "there is no such setting: known are " + strings.Join(names(), ", ")}
		}
		if err := s.apply(f, "--"+name, flags[name]); err != nil {
			return err
		}
	}
	return nil
}

// nearest is the setting whose name, as spelled, is what somebody may have
// meant; empty if none comes close.
func nearest(given string, spelled func(string) string) string {
	best, at := "", 3
	for _, f := range fields {
		if d := spelling.Distance(given, spelled(f.name)); d < at {
			best, at = spelled(f.name), d
		}
	}
	return best
}

// unknown is the error about a name in a file.
func unknown(name, source string) error {
	text := "there is no such setting: known are " + strings.ReplaceAll(strings.Join(names(), ", "), "-", "_")
	if near := nearest(name, key); near != "" {
		text = fmt.Sprintf("there is no such setting: did you mean %s?", near)
	}
	return &Error{name, source, text}
}
