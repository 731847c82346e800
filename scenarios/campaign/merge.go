package campaign

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Merge makes one file of several, of one campaign: all their shards, each
// once. It does not matter in which order files are merged, nor in which groups.
// The error is one sentence: two files are of different campaigns.
func Merge(files ...*File) (*File, error) {
	merged := &File{Plan: files[0].Plan}
	for _, f := range files {
		if why := merged.differs(&f.Plan); why != "" {
			return nil, fmt.Errorf("%s and %s are of different campaigns: %s", files[0].Name, f.Name, why)
		}
		merged.Shards = append(merged.Shards, f.Shards...)
	}
	slices.SortFunc(merged.Shards, func(a, b Part) int {
		return cmp.Or(cmp.Compare(a.Shard, b.Shard), bytes.Compare(a.Result, b.Result),
			cmp.Compare(a.Processor, b.Processor), bytes.Compare(a.Measured, b.Measured))
	})
	merged.Shards = slices.CompactFunc(merged.Shards, func(a, b Part) bool { return a.Shard == b.Shard && bytes.Equal(a.Result, b.Result) })
	return merged, nil
}

// differs says in what two plans differ, "" if in nothing.
func (p *Plan) differs(from *Plan) string {
	switch {
	case p.Kind != from.Kind:
		return fmt.Sprintf("one is of kind %s, the other of kind %s", p.Kind, from.Kind)
	case p.Program != from.Program:
		return fmt.Sprintf("one was drawn by version %s of the program, the other by %s", p.Program, from.Program)
	case p.Of != from.Of:
		return fmt.Sprintf("one has %d shards, the other %d", p.Of, from.Of)
	case p.Command != from.Command:
		return fmt.Sprintf("one is %q, the other %q", p.Command, from.Command)
	case p.Seed != from.Seed || !bytes.Equal(p.Settings, from.Settings):
		return fmt.Sprintf("one has seed %d and the settings %s, the other %d and %s", p.Seed, p.Settings, from.Seed, from.Settings)
	default:
		return ""
	}
}

// Repeated are the shards of which several files have the same result. It is
// asked of what is to be merged: what is merged has each once.
func Repeated(files ...*File) []int {
	type result struct {
		shard int
		text  string
	}
	seen := map[result]bool{}
	var twice []int
	for _, f := range files {
		for _, p := range f.Shards {
			r := result{p.Shard, string(p.Result)}
			if seen[r] {
				twice = append(twice, p.Shard)
			}
			seen[r] = true
		}
	}
	slices.Sort(twice)
	return slices.Compact(twice)
}

// Missing are the shards that have not come back.
func (f *File) Missing() []int {
	there := map[int]bool{}
	for _, p := range f.Shards {
		there[p.Shard] = true
	}
	var missing []int
	for i := range f.Of {
		if !there[i+1] {
			missing = append(missing, i+1)
		}
	}
	return missing
}

// Disputed are the shards that have come back with different results. A shard's
// result follows from its plan, so that must not be.
func (f *File) Disputed() []int {
	var all []int
	for i := range f.Shards {
		if !f.First(i) {
			all = append(all, f.Shards[i].Shard)
		}
	}
	return slices.Compact(all)
}

// First reports whether the i-th part is the one of its shard that counts: only
// where a shard is disputed there are others. The file is one that Merge made.
func (f *File) First(i int) bool { return i == 0 || f.Shards[i-1].Shard != f.Shards[i].Shard }

// Processor is how many seconds of a processor all shards took.
func (f *File) Processor() float64 {
	sum := 0.
	for i := range f.Shards {
		sum += f.Shards[i].Processor
	}
	return sum
}

// Ranges writes numbers in their order, such as "3, 7-12".
func Ranges(numbers []int) string {
	var parts []string
	for i := 0; i < len(numbers); {
		from := i
		for i++; i < len(numbers) && numbers[i] == numbers[i-1]+1; i++ {
		}
		if text := fmt.Sprint(numbers[from]); i == from+1 {
			parts = append(parts, text)
		} else {
			parts = append(parts, fmt.Sprintf("%s-%d", text, numbers[i-1]))
		}
	}
	return strings.Join(parts, ", ")
}
