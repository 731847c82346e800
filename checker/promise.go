package checker

// Summary says in one line when the promise is kept.
func (p Promise) Summary() string {
	switch p {
	case WellFormed:
		return "the history can be judged: pairs match, times run forward, every scheduled fault took effect"
	case LeaseLinearizable:
		return "acquire, renew, release and observe answered as one lease with expiry would have, in some order that fits the times"
	case AtMostOneLeader:
		return "no two candidates believe at one time that they lead the same election"
	case LossHeeded:
		return "whoever is told that its lease is over believes no longer, and whoever believes no longer writes no longer"
	case TokensIncrease:
		return "a later term has a larger token, and no token serves two terms"
	case FencedWrites:
		return "the resource never accepts a token smaller than one it accepted before, and reads see the last accepted write"
	case LeaderReturns:
		return "after all is healed somebody leads within the bound that the timings imply, and goes on leading"
	case FailoverBound:
		return "every failover's excess is within the scenario's bound"
	case Stable:
		return "without a fault the leader does not change"
	default:
		return ""
	}
}
