package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// deployed are the calls of elect in the folder deploy, by their file.
func deployed(t *testing.T) map[string][]string {
	t.Helper()
	read := func(name string) []byte {
		content, err := os.ReadFile(filepath.Join("..", "..", "deploy", name))
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	calls := map[string][]string{}
	for _, name := range []string{"kubernetes/run.yaml", "kubernetes/sidecar.yaml", "compose.yaml"} {
		var root yaml.Node
		if err := yaml.Unmarshal(read(name), &root); err != nil {
			t.Fatal(err)
		}
		if args := argumentsIn(&root); args != nil {
			calls[name] = args
		}
	}
	for line := range strings.Lines(string(read("elect.service"))) {
		if text, ok := strings.CutPrefix(line, "ExecStart="); ok {
			calls["elect.service"] = strings.Fields(text)[1:]
		}
	}
	return calls
}

// argumentsIn are the words of the first command and args in a file that hold a
// flag, without the program's own name.
func argumentsIn(node *yaml.Node) []string {
	var words []string
	for i, n := range node.Content {
		if node.Kind == yaml.MappingNode && i%2 == 1 && (node.Content[i-1].Value == "command" || node.Content[i-1].Value == "args") {
			for _, item := range n.Content {
				words = append(words, item.Value)
			}
		}
	}
	if strings.Contains(strings.Join(words, " "), "--name") {
		if strings.HasPrefix(words[0], "/") {
			words = words[1:]
		}
		return words
	}
	for _, n := range node.Content {
		if found := argumentsIn(n); found != nil {
			return found
		}
	}
	return nil
}

// Every call of elect that is deployed is one that it understands: command,
// flags, values, and the grace period that follows from them.
func TestDeployed(t *testing.T) {
	calls := deployed(t)
	if len(calls) != 4 {
		t.Fatalf("found %d calls: %v", len(calls), calls)
	}
	for name, args := range calls {
		root := Main{}.command()
		cmd, rest, err := root.Find(args)
		if err != nil || cmd == root {
			t.Errorf("%s: %v is no command: %v", name, args, err)
			continue
		}
		if err := cmd.ParseFlags(rest); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if cmd.Name() == "run" && len(cmd.Flags().Args()) == 0 {
			t.Errorf("%s runs nothing", name)
		}
		f := &runFlags{options: &options{flags: cmd.Flags()}}
		if f.file, _ = cmd.Flags().GetString("config"); f.file != "" {
			f.file = filepath.Join("..", "..", "deploy", "elect.yaml") // what is installed under that name
		}
		f.grace, _ = cmd.Flags().GetDuration("grace")
		if _, err := (Main{Environ: []string{"REDIS_PASSWORD=x", "ELECT_STORE=redis://db"}}).prepare(f); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Every flag that the guide mentions is one of elect's, and each flag of run is
// in the guide.
func TestGuideKnowsFlags(t *testing.T) {
	content, err := os.ReadFile(filepath.Join("..", "..", "docs", "elect.md"))
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{"help": true, "version": true} // which cobra adds
	for _, cmd := range (Main{}).command().Commands() {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			known[f.Name] = true
			if cmd.Name() == "run" && !strings.Contains(string(content), "--"+f.Name) {
				t.Errorf("the guide does not mention --%s", f.Name)
			}
		})
	}
	for _, word := range strings.FieldsFunc(string(content), func(r rune) bool { return strings.ContainsRune(" \n`|,.;:()=[]'\"", r) }) {
		name, ok := strings.CutPrefix(word, "--")
		if ok && name != "" && name[0] >= 'a' && name[0] <= 'z' && !known[name] && !others[name] {
			t.Errorf("the guide mentions --%s, which is no flag", name)
		}
	}
}

// The mistake that the guide shows is shown as it is made.
func TestGuideShowsMistake(t *testing.T) {
	content, err := os.ReadFile(filepath.Join("..", "..", "docs", "elect.md"))
	if err != nil {
		t.Fatal(err)
	}
	r := call(t, t.Context(), []string{"ELECT_RENEW=4s"}, "run", "--store", "redis://a", "--name", "x", "--lease", "3s", "--", "true")
	if !strings.Contains(string(content), "\n"+r.errors) {
		t.Errorf("the guide does not show %s", r.errors)
	}
}

// others are flags in the guide that belong to other programs.
var others = map[string]bool{"forever": true, "build": true, "scale": true}
