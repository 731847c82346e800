// Package documented holds leader electors that others have documented, each
// written as its document describes it, to be put on trial beside the
// production elector. What a document leaves open is done as a plain
// implementation would do it; the comment of each elector says what that is.
//
// The documents give their times for one length of the lease. Here they are
// fractions of the lease of the run: what a run calls renew and retry concerns
// none of these electors.
package documented
