package explore

import (
	"slices"

	"github.com/recount-io/recount/internal/quorum"
)

// plantedInMajorities are around the machine of a majority of stores.
func plantedInMajorities() []Plant {
	return []Plant{
		{
			Name: "one-store-is-enough", What: "of three stores one is enough, to be granted the lease and to renew it",
			Rules: quorum.Rules{Decide: oneDecides, Renewed: oneRenews},
		}, {
			Name: "silence-renews", What: "a store that does not answer a renewal counts as one that agreed",
			Rules: quorum.Rules{Renewed: silenceRenews},
		}, {
			Name: "one-refusal-is-loss", What: "a renewal that one store refuses is lost, whatever the others say",
			Rules: quorum.Rules{Renewed: refusalDecides},
		}, {
			Name: "tokens-differ", What: "stores that granted different tokens make a majority, and the term has the smallest of them",
			Rules: quorum.Rules{Decide: anyTokens},
		}, {
			Name: "keeps-minority", What: "an attempt that fails does not give back what it was granted",
			Rules: quorum.Rules{Decide: func(c *quorum.Claim, a *quorum.Attempt) (quorum.Step, uint64) {
				step, token := c.Decide(a)
				if step == quorum.Fail {
					step = quorum.Refuse
				}
				return step, token
			}},
		}, {
			Name: "gives-back-old-token", What: "what is of no use is given back with the token before the one that the store granted",
			Asked: func(out *quorum.Output) {
				for i := range out.Requests {
					if r := &out.Requests[i]; r.Ask == quorum.AskBack {
						r.Token--
					}
				}
			},
		},
	}
}

// granted are the tokens that count of those that stores have granted.
func granted(c *quorum.Claim, a *quorum.Attempt) (tokens []uint64) {
	for n, v := range a.Verdicts {
		if v == quorum.Yes && c.Nodes[n].Token == a.Tokens[n] {
			tokens = append(tokens, a.Tokens[n])
		}
	}
	return tokens
}

func oneDecides(c *quorum.Claim, a *quorum.Attempt) (quorum.Step, uint64) {
	if tokens := granted(c, a); len(tokens) > 0 {
		return quorum.Win, slices.Max(tokens)
	}
	return c.Decide(a)
}

func oneRenews(verdicts []quorum.Verdict) quorum.Outcome {
	if quorum.Count(verdicts)[quorum.Yes] > 0 {
		return quorum.Done
	}
	return quorum.Renewed(verdicts)
}

func silenceRenews(verdicts []quorum.Verdict) quorum.Outcome {
	agreed := slices.Clone(verdicts)
	for i, v := range agreed {
		if v == quorum.Silent {
			agreed[i] = quorum.Yes
		}
	}
	return quorum.Renewed(agreed)
}

func refusalDecides(verdicts []quorum.Verdict) quorum.Outcome {
	if quorum.Count(verdicts)[quorum.No] > 0 {
		return quorum.Denied
	}
	return quorum.Renewed(verdicts)
}

func anyTokens(c *quorum.Claim, a *quorum.Attempt) (quorum.Step, uint64) {
	tokens := granted(c, a)
	if c.Token != 0 || len(tokens) < quorum.Size(len(c.Nodes)) {
		return c.Decide(a)
	}
	return quorum.Win, slices.Min(tokens)
}
