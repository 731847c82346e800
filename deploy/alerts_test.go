// Package deploy_test checks what operators copy: names that do not exist alert
// nobody.
package deploy_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.yaml.in/yaml/v3"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/health/instrument"
	"github.com/recount-io/recount/elector/memstore"
	"github.com/recount-io/recount/elector/prommetrics"
)

// rule is one alert.
type rule struct {
	Alert       string            `yaml:"alert"`
	Expr        string            `yaml:"expr"`
	For         prometheusTime    `yaml:"for"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
}

// prometheusTime is a duration as Prometheus writes it; empty is none.
type prometheusTime string

func alerts(t *testing.T) []rule {
	t.Helper()
	text, err := os.ReadFile("prometheus-alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var rules struct {
		Groups []struct {
			Name  string `yaml:"name"`
			Rules []rule `yaml:"rules"`
		} `yaml:"groups"`
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&rules); err != nil {
		t.Fatal(err)
	}
	if len(rules.Groups) != 1 || len(rules.Groups[0].Rules) < 10 {
		t.Fatalf("%+v", rules)
	}
	return rules.Groups[0].Rules
}

// families are the metrics of an elector that has done nothing yet.
func families(t *testing.T) map[string]*dto.MetricFamily {
	t.Helper()
	collector := prommetrics.New(prommetrics.Options{})
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(collector)
	cfg := elector.Config{Election: "billing", Logger: slog.New(slog.DiscardHandler)}
	if _, err := instrument.New(memstore.New(memstore.Options{}), cfg, collector); err != nil {
		t.Fatal(err)
	}
	list, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	byName := make(map[string]*dto.MetricFamily)
	for _, f := range list {
		byName[f.GetName()] = f
	}
	return byName
}

var (
	metricName = regexp.MustCompile(`recount_elector_\w+`)
	selector   = regexp.MustCompile(`(recount_elector_\w+)\{(\w+)=~?"([^"]*)"\}`)
	duration   = regexp.MustCompile(`^([0-9]+[smhd])?$`)
)

// base is the metric of a series: a histogram has several for each.
func base(name string, all map[string]*dto.MetricFamily) string {
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		if cut, ok := strings.CutSuffix(name, suffix); ok && all[cut] != nil {
			return cut
		}
	}
	return name
}

// Every alert asks for series that exist, with label values that occur, says
// how urgent it is, and names a runbook that is there.
func TestAlerts(t *testing.T) {
	all := families(t)
	headings := headings(t)
	for _, r := range alerts(t) {
		names := metricName.FindAllString(r.Expr, -1)
		if len(names) == 0 || strings.Count(r.Expr, "(") != strings.Count(r.Expr, ")") || !duration.MatchString(string(r.For)) {
			t.Errorf("%s: %q for %q", r.Alert, r.Expr, r.For)
		}
		for _, name := range names {
			if all[base(name, all)] == nil {
				t.Errorf("%s asks for %s, which is no metric", r.Alert, name)
			}
		}
		for _, m := range selector.FindAllStringSubmatch(r.Expr, -1) {
			for value := range strings.SplitSeq(m[3], "|") {
				if !occurs(all[base(m[1], all)], m[2], value) {
					t.Errorf("%s asks for %s{%s=%q}, which never occurs", r.Alert, m[1], m[2], value)
				}
			}
		}
		if s := r.Labels["severity"]; s != "page" && s != "ticket" {
			t.Errorf("%s has the severity %q", r.Alert, s)
		}
		if r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
			t.Errorf("%s does not say what it means", r.Alert)
		}
		anchor, ok := strings.CutPrefix(r.Annotations["runbook"], "docs/operations.md#")
		if !ok || !slices.Contains(headings, anchor) {
			t.Errorf("%s has the runbook %q, which is not there", r.Alert, r.Annotations["runbook"])
		}
	}
}

func occurs(f *dto.MetricFamily, label, value string) bool {
	for _, m := range f.GetMetric() {
		for _, l := range m.GetLabel() {
			if l.GetName() == label && l.GetValue() == value {
				return true
			}
		}
	}
	return false
}

// operations is the operators' manual.
func operations(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func headings(t *testing.T) []string {
	t.Helper()
	var list []string
	for line := range strings.Lines(operations(t)) {
		if strings.HasPrefix(line, "#") {
			list = append(list, strings.ToLower(strings.ReplaceAll(strings.TrimSpace(strings.TrimLeft(line, "#")), " ", "-")))
		}
	}
	return list
}

// The manual's table has every metric, and the manual names none that does not
// exist. It tells of every alert and of every kind of trouble.
func TestManualNamesWhatExists(t *testing.T) {
	text, all := operations(t), families(t)
	for name := range all {
		if !strings.Contains(text, "| `"+name+"` |") {
			t.Errorf("docs/operations.md has no line for %s", name)
		}
	}
	for _, name := range metricName.FindAllString(text, -1) {
		if all[base(name, all)] == nil {
			t.Errorf("docs/operations.md tells of %s, which is no metric", name)
		}
	}
	for _, r := range alerts(t) {
		if !strings.Contains(text, "`"+r.Alert+"`") {
			t.Errorf("docs/operations.md does not say what to do about %s", r.Alert)
		}
	}
	for _, kind := range instrument.Troubles() {
		if !strings.Contains(text, "| `"+kind+"` |") {
			t.Errorf("docs/operations.md does not say what to do about the trouble %s", kind)
		}
	}
}

// Every line that the elector logs is in the manual, with its very words.
func TestManualKnowsEveryLogLine(t *testing.T) {
	logged := regexp.MustCompile(`(?:Text += |text = |slog\.Level\w+, |Logger\.(?:Debug|Info|Warn|Error)\()"([^"]+)"`)
	sources, err := filepath.Glob("../elector/*.go")
	if err != nil {
		t.Fatal(err)
	}
	text, found := operations(t), 0
	for _, name := range sources {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range logged.FindAllStringSubmatch(string(source), -1) {
			found++
			if !strings.Contains(text, "`"+m[1]+"`") {
				t.Errorf("docs/operations.md does not say what to do about the log line %q", m[1])
			}
		}
	}
	if found < 12 {
		t.Errorf("only %d log lines were found: the test looks for the wrong text", found)
	}
}

// Every question of the dashboard is about series that exist, with label values
// that occur, and every panel says what it shows.
func TestDashboard(t *testing.T) {
	text, err := os.ReadFile("grafana-dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct {
			Title, Description string
			Targets            []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	all, asked := families(t), 0
	for _, p := range board.Panels {
		if p.Title == "" || p.Description == "" || len(p.Targets) == 0 {
			t.Errorf("%+v", p)
		}
		for _, target := range p.Targets {
			if strings.Count(target.Expr, "(") != strings.Count(target.Expr, ")") {
				t.Errorf("%q asks %s", p.Title, target.Expr)
			}
			for _, m := range outcomes.FindAllStringSubmatch(target.Expr, -1) {
				for value := range strings.SplitSeq(m[1], "|") {
					if !occurs(all["recount_elector_store_requests_total"], "outcome", value) {
						t.Errorf("%q asks for the outcome %q, which never occurs", p.Title, value)
					}
				}
			}
		}
	}
	for _, name := range metricName.FindAllString(string(text), -1) { // also where the variables come from
		asked++
		if all[base(name, all)] == nil {
			t.Errorf("the dashboard asks for %s, which is no metric", name)
		}
	}
	if asked < 10 {
		t.Errorf("only %d questions were found", asked)
	}
}

var outcomes = regexp.MustCompile(`outcome=~"([^"]*)"`)

// The manual has every metric that goes to OpenTelemetry.
func TestManualHasEveryMeter(t *testing.T) {
	source, err := os.ReadFile("../elector/oteltrace/meters.go")
	if err != nil {
		t.Fatal(err)
	}
	meters := regexp.MustCompile(`(?:counter|seconds|gauge)\("([a-z_.]+)"|"recount\.elector\.([a-z_.]+)"`).FindAllStringSubmatch(string(source), -1)
	for _, m := range meters {
		if name := m[1] + m[2]; !strings.Contains(operations(t), "`"+name+"`") {
			t.Errorf("docs/operations.md does not name recount.elector.%s", name)
		}
	}
	if len(meters) < 14 {
		t.Errorf("only %d were found: the test looks for the wrong text", len(meters))
	}
}
