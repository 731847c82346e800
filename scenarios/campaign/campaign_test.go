package campaign

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// A shard is read as it is written; who counts from 0 means the same ones; and what
// is no shard is refused with what one looks like.
func TestParseShard(t *testing.T) {
	for text, want := range map[string]Shard{"1/1": {1, 1}, "3/8": {3, 8}, "8/8": {8, 8}, "0/8": {8, 8}, "0/1": {1, 1}} {
		got, err := ParseShard(text)
		if err != nil || got != want {
			t.Errorf("%s is %v, %v", text, got, err)
		}
		if again, err := ParseShard(got.String()); err != nil || again != got {
			t.Errorf("%v is read as %v, %v", got, again, err)
		}
	}
	for _, text := range []string{"", "3", "3/", "/8", "9/8", "-1/8", "1/0", "a/b", "1/2/3", "1/1000001"} {
		if got, err := ParseShard(text); err == nil || !strings.Contains(err.Error(), "no shard") {
			t.Errorf("%q is %v, %v", text, got, err)
		}
	}
}

// Every unit belongs to exactly one shard, however many there are; without a
// shard all of them are taken.
func TestTakes(t *testing.T) {
	for of := 1; of < 10; of++ {
		for unit := range 100 {
			n := 0
			for i := range of {
				if (Shard{i + 1, of}).Takes(unit) {
					n++
				}
			}
			if n != 1 {
				t.Fatalf("unit %d belongs to %d shards of %d", unit, n, of)
			}
		}
	}
	if !(Shard{}).Takes(7) || (Shard{}).Given() || (Shard{}).String() != "" {
		t.Error("the whole is a part")
	}
}

// plan is a campaign of so many shards.
func plan(of int) Plan {
	return Plan{Kind: Fuzz, Seed: 7, Of: of, Command: "chaos fuzz --seed 7", Program: "v1"}
}

// shard is the file of one.
func shard(t *testing.T, i, of int, result string) *File {
	t.Helper()
	f, err := New(plan(of), Shard{i, of}, map[string]int{"schedules": 100}, result, nil, float64(i))
	if err != nil {
		t.Fatal(err)
	}
	f.Name = Shard{i, of}.Name()
	return f
}

// merge merges files that must be of one campaign, and sends the outcome through
// its file.
func merge(t *testing.T, files ...*File) *File {
	t.Helper()
	merged, err := Merge(files...)
	if err != nil {
		t.Fatal(err)
	}
	text := marshal(t, merged)
	read, err := Parse("merged", text)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if again := marshal(t, read); !bytes.Equal(again, text) {
		t.Errorf("the file\n%s\nis read as\n%s", text, again)
	}
	return read
}

func marshal(t *testing.T, f *File) []byte {
	t.Helper()
	text, err := f.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Files are merged to the same bytes in every order and in all groups, also if
// shards are there several times, and differ.
func TestMergeIsASum(t *testing.T) {
	var all []*File
	for i := range 8 {
		all = append(all, shard(t, i+1, 8, "<the same & so on>"))
	}
	all = append(all, shard(t, 3, 8, "another"), shard(t, 5, 8, "<the same & so on>"), shard(t, 5, 8, "a third"))
	want := marshal(t, merge(t, all...))
	random := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		files := slices.Clone(all)
		random.Shuffle(len(files), func(i, j int) { files[i], files[j] = files[j], files[i] })
		for len(files) > 1 {
			n := min(1+random.IntN(4), len(files))
			files = append(files[n:], merge(t, files[:n]...))
		}
		if got := marshal(t, files[0]); !bytes.Equal(got, want) {
			t.Fatalf("merged to\n%s\nand to\n%s", got, want)
		}
	}
}

// What has come back is told: which shards are missing, which are there several
// times, and which of these differ.
func TestWhatCameBack(t *testing.T) {
	files := []*File{shard(t, 1, 12, "a"), shard(t, 4, 12, "b"), shard(t, 4, 12, "b"), shard(t, 9, 12, "c"), shard(t, 9, 12, "d")}
	f := merge(t, files...)
	if got := Ranges(f.Missing()); got != "2-3, 5-8, 10-12" {
		t.Errorf("missing: %s", got)
	}
	if got := Ranges(Repeated(files...)); got != "4" {
		t.Errorf("repeated: %s", got)
	}
	if got := Ranges(f.Disputed()); got != "9" {
		t.Errorf("disputed: %s", got)
	}
	var first []int
	for i := range f.Shards {
		if f.First(i) {
			first = append(first, f.Shards[i].Shard)
		}
	}
	if !slices.Equal(first, []int{1, 4, 9}) || f.Processor() != 1+4+9+9 {
		t.Errorf("%v count, and took %v s", first, f.Processor())
	}
	if got := Ranges(nil); got != "" {
		t.Errorf("none are %q", got)
	}
}

// Files of different campaigns are not merged; one sentence says which two, and in
// what they differ.
func TestMergeRefuses(t *testing.T) {
	change := func(how func(*Plan)) *File {
		f := shard(t, 2, 8, "a")
		f.Name = "other.json"
		how(&f.Plan)
		return f
	}
	for want, f := range map[string]*File{
		"kind mutants":          change(func(p *Plan) { p.Kind = Mutants }),
		"version v1 of":         change(func(p *Plan) { p.Program = "v2" }),
		"one has 8 shards":      change(func(p *Plan) { p.Of = 4 }),
		"chaos fuzz --seed 8":   change(func(p *Plan) { p.Command = "chaos fuzz --seed 8" }),
		`{"schedules":100}`:     change(func(p *Plan) { p.Settings = []byte(`{"schedules":200}`) }),
		"one has seed 7 and th": change(func(p *Plan) { p.Seed = 8 }),
	} {
		_, err := Merge(shard(t, 1, 8, "a"), f)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "shard-1-of-8.json and other.json are of different campaigns: ") {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// Every file that Marshal has not written is refused with its name and one line.
func TestParseRefuses(t *testing.T) {
	good := string(marshal(t, shard(t, 1, 8, "a")))
	if _, err := Parse("good", []byte(good)); err != nil {
		t.Fatal(err)
	}
	for want, text := range map[string]string{
		"unexpected end":  good[:len(good)/2],
		"is missing":      `{"recount_replay":1}`,
		"version 9":       strings.Replace(good, `"recount_campaign":1`, `"recount_campaign":9`, 1),
		"unknown field":   strings.Replace(good, `"seed"`, `"sead"`, 1),
		"after top-level": good + "{}",
		"shard 9 of 8":    strings.Replace(good, `"shard":1`, `"shard":9`, 1),
		"plan makes no":   strings.Replace(good, `"of":8`, `"of":0`, 1),
		"no JSON object":  "[]",
	} {
		_, err := Parse("bad.json", []byte(text))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "bad.json is no file of a campaign: ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
