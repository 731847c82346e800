package search

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/recount-io/recount/checker/internal/finding"
	"github.com/recount-io/recount/checker/internal/index"
)

const (
	// visualizationCap bounds the search for the picture.
	visualizationCap = 10 * time.Second
	// visualizationOps is how many operations of an election a picture shows.
	// Porcupine keeps the longest order through every operation, which is
	// quadratic, and no browser draws more.
	visualizationOps = 2000
	// pictureOps is how many it shows at least around the point at which the
	// search gets stuck.
	pictureOps = 256
)

// Picture writes porcupine's own page on the operations on the lease,
// one partition for each election, with the faults as annotations. Where no
// order of the operations exists, the page shows the longest partial ones.
//
// An election with more than 2000 operations is cut to the stretch around the
// point at which the search gets stuck, or to its beginning. The search takes
// 10 s at the most; what it found by then is shown. The history must be
// well-formed. It is an error if there is no operation on a lease, or if w
// fails.
func Picture(x *index.Index, w io.Writer) error {
	b, cancel := newBound(visualizationCap, mostBytes)
	defer cancel()

	var partitions []picture
	for _, e := range x.Elections {
		if s := newSearch(b, x, e); len(s.inputs) > 0 {
			partitions = append(partitions, s.picture(e.Name))
		}
	}
	if len(partitions) == 0 {
		return fmt.Errorf("checker: the history has no operation on a lease to show; record a run of an elector that reports its calls")
	}
	model, info := draw(b.ctx, partitions)
	info.AddAnnotations(annotations(x, partitions))
	if err := porcupine.Visualize(model, info, w); err != nil {
		return fmt.Errorf("checker: visualize the lease: %w", err)
	}
	return nil
}

// picture is the part of one election that is shown.
type picture struct {
	name   string
	search *search
	states []leaseState // in which it begins
	ops    []porcupine.Operation
}

// pictureState is a state of one partition: the set of lease states, and the
// election's model to go on with. It is nil before the first step.
type pictureState struct {
	p      *picture
	states []leaseState
}

// pictureInput is a step of one partition.
type pictureInput struct {
	p  *picture
	in *leaseInput
}

// picture chooses the operations to show: all, or the windows up to the one in
// which the search gets stuck.
func (s *search) picture(name string) picture {
	ops := operations(s.inputs)
	p := picture{name: name, search: s, states: s.begin, ops: ops}
	if len(ops) <= visualizationOps {
		return p
	}
	states := s.begin
	p.ops = ops[:visualizationOps]
	for begin := 0; begin < len(ops); {
		end := s.quiet(begin)
		for end < len(ops) && end-begin < pictureOps {
			end = s.quiet(end)
		}
		if end-begin > visualizationOps {
			break
		}
		ends, _ := s.window(states, s.inputs[begin:end], false)
		if len(ends) == 0 {
			p.states, p.ops = states, ops[begin:end]
			break
		}
		states, begin = s.model.reduce(slices.Concat(ends...)), end
	}
	return p
}

// draw runs the search for all pictures at once.
func draw(ctx context.Context, pictures []picture) (porcupine.Model, porcupine.LinearizationInfo) {
	var all []porcupine.Operation
	clients := 0
	for i := range pictures {
		p := &pictures[i]
		most := 0
		for _, o := range p.ops {
			most = max(most, o.ClientId)
			o.ClientId += clients
			o.Input = pictureInput{p, o.Input.(*leaseInput)}
			all = append(all, o)
		}
		clients += most + 1
	}
	model := pictureModel(ctx)
	_, info := porcupine.CheckOperationsVerbose(model, all, visualizationCap)
	model.Step = pictureStep(context.Background()) // the page replays what was found
	return model, info
}

func pictureModel(ctx context.Context) porcupine.Model {
	return porcupine.Model{
		Partition: byPicture,
		Init:      func() any { return pictureState{} },
		Step:      pictureStep(ctx),
		Equal: func(a, b any) bool {
			s, t := a.(pictureState), b.(pictureState)
			return s.p == t.p && slices.Equal(s.states, t.states)
		},
		Hash: func(state any) uint64 { return hashStates(state.(pictureState).states) },
		DescribeOperation: func(input, _ any) string {
			x := input.(pictureInput)
			return x.p.label() + describeInput(x.in)
		},
		DescribeState: func(state any) string { return describeStates(state.(pictureState).states) },
	}
}

func (p *picture) label() string {
	if p.name == "" {
		return ""
	}
	return p.name + ": "
}

func pictureStep(ctx context.Context) func(state, input, _ any) (bool, any) {
	return func(state, input, _ any) (bool, any) {
		x, s := input.(pictureInput), state.(pictureState)
		if ctx.Err() != nil {
			return false, s
		}
		if s.p == nil {
			s = pictureState{x.p, x.p.states}
		}
		next := x.p.search.model.step(nil, s.states, x.in)
		return len(next) > 0, pictureState{x.p, next}
	}
}

// byPicture splits the operations by their picture, in order.
func byPicture(all []porcupine.Operation) [][]porcupine.Operation {
	var out [][]porcupine.Operation
	for i, o := range all {
		if i == 0 || o.Input.(pictureInput).p != all[i-1].Input.(pictureInput).p {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], o)
	}
	return out
}

// annotations are the faults that overlap what is shown.
func annotations(x *index.Index, pictures []picture) []porcupine.Annotation {
	first, last := index.Forever, -index.Forever
	for _, p := range pictures {
		for _, o := range p.ops {
			in := o.Input.(*leaseInput)
			first, last = min(first, max(in.from, 0)), max(last, min(max(in.from, in.to), x.End))
		}
	}
	var out []porcupine.Annotation
	for _, f := range x.Faults {
		off := min(f.Off, x.End)
		if off < first || f.On > last {
			continue
		}
		out = append(out, porcupine.Annotation{
			Tag: "faults", Start: int64(max(f.On, first)), End: int64(min(off, last)),
			Description: f.Name, Details: fmt.Sprintf("%s on %s, %s to %s %s", f.Name, strings.Join(f.Targets, ", "),
				finding.Moment(f.On), finding.Moment(off), f.Evidence),
			BackgroundColor: "#ffd7d7",
		})
	}
	if x.Healed != nil && first <= x.Healed.At && x.Healed.At <= last {
		out = append(out, porcupine.Annotation{Tag: "faults", Start: int64(x.Healed.At), Description: "healed", BackgroundColor: "#d7ffd7"})
	}
	return out
}
