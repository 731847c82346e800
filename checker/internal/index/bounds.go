package index

import "time"

// Retry is how often a waiting candidate tries, a fifth of the lease where the
// header does not say it.
func (x *Index) Retry() time.Duration {
	if x.Header.Retry > 0 {
		return x.Header.Retry
	}
	return x.Header.Lease / 5
}

// Drift is what the tolerated difference of clock rates makes of d.
func (x *Index) Drift(d time.Duration) time.Duration {
	return time.Duration(float64(d) * float64(x.Header.DriftPPM) / 1e6)
}

// FailoverBound is the scenario's bound of a failover's excess. Derived: two
// retries (the one that came too early and the one that succeeds), half a
// lease for a request that hangs until its time-out on the way, and half a
// second for a busy machine.
func (x *Index) FailoverBound() time.Duration {
	if x.Header.FailoverBound > 0 {
		return x.Header.FailoverBound
	}
	return 2*x.Retry() + x.Header.Lease/2 + time.Second/2
}

// ReturnBound is the scenario's bound from healed to a leader. Derived: a
// whole lease, which a dead leader may have extended just before, on the
// slowest clock that is tolerated, and then a failover's bound.
func (x *Index) ReturnBound() time.Duration {
	if x.Header.ReturnBound > 0 {
		return x.Header.ReturnBound
	}
	return x.Header.Lease + x.Drift(x.Header.Lease) + 2*x.Retry() + x.Header.Lease/2 + time.Second/2
}
