package checker

import "time"

// retry is how often a waiting candidate tries, a fifth of the lease where the
// header does not say it.
func (r *run) retry() time.Duration {
	if r.header.Retry > 0 {
		return r.header.Retry
	}
	return r.header.Lease / 5
}

// drift is what the tolerated difference of clock rates makes of d.
func (r *run) drift(d time.Duration) time.Duration {
	return time.Duration(float64(d) * float64(r.header.DriftPPM) / 1e6)
}

// failoverBound is the scenario's bound of a failover's excess. Derived: two
// retries (the one that came too early and the one that succeeds), half a
// lease for a request that hangs until its time-out on the way, and half a
// second for a busy machine.
func (r *run) failoverBound() time.Duration {
	if r.header.FailoverBound > 0 {
		return r.header.FailoverBound
	}
	return 2*r.retry() + r.header.Lease/2 + time.Second/2
}

// returnBound is the scenario's bound from healed to a leader. Derived: a
// whole lease, which a dead leader may have extended just before, on the
// slowest clock that is tolerated, and then a failover's bound.
func (r *run) returnBound() time.Duration {
	if r.header.ReturnBound > 0 {
		return r.header.ReturnBound
	}
	return r.header.Lease + r.drift(r.header.Lease) + 2*r.retry() + r.header.Lease/2 + time.Second/2
}
