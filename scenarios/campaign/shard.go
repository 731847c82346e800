package campaign

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Shard is a part of a campaign: the Index-th of Of, counted from 1. The zero
// Shard is the whole of what is no campaign.
type Shard struct{ Index, Of int }

// Most is how many shards a campaign has at the most.
const Most = 1_000_000

// ParseShard reads a shard such as "3/8". Who counts from 0 may do so: 0/8 is
// 8/8.
func ParseShard(text string) (Shard, error) {
	index, of, _ := strings.Cut(text, "/")
	i, err := strconv.Atoi(index)
	n, err2 := strconv.Atoi(of)
	switch {
	case errors.Join(err, err2) != nil:
		return Shard{}, fmt.Errorf("%q is no shard: give its number and how many there are, such as 3/8", text)
	case n < 1 || n > Most:
		return Shard{}, fmt.Errorf("%q is no shard: there may be 1 to %d of them", text, Most)
	case i < 0 || i > n:
		return Shard{}, fmt.Errorf("%q is no shard: of %d the last is %d/%d", text, n, n, n)
	case i == 0:
		i = n
	}
	return Shard{i, n}, nil
}

// Given reports whether it is a part of a campaign.
func (s Shard) Given() bool { return s.Of > 0 }

// Takes reports whether the shard has a unit of the campaign; units are counted
// from 0. The zero Shard takes all.
func (s Shard) Takes(unit int) bool { return !s.Given() || unit%s.Of == s.Index-1 }

// Share is how many of so many units the shard has.
func (s Shard) Share(units int) int { return (units + s.Of - s.Index) / s.Of }

// String is what ParseShard reads.
func (s Shard) String() string {
	if !s.Given() {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.Index, s.Of)
}

// Set reads a flag's value.
func (s *Shard) Set(text string) error {
	shard, err := ParseShard(text)
	if err == nil {
		*s = shard
	}
	return err
}

// Type names the kind of a flag's value.
func (*Shard) Type() string { return "i/n" }

// Name is the name of the shard's file.
func (s Shard) Name() string { return fmt.Sprintf("shard-%d-of-%d.json", s.Index, s.Of) }
