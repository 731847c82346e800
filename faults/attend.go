package faults

import "context"

// Attendant is what faults ask of a store that is attended to while candidates are
// connected to it. It is part of World.
type Attendant interface {
	// MoveStore puts a replica, which has all that the server has, in the server's
	// place. New connections lead there. Connections that are open go on with the
	// server before, which answers them so until the end of the run.
	MoveStore(ctx context.Context, answer Answer) (evidence string, err error)
	// CloseConnections has the store close every connection of a candidate.
	CloseConnections(ctx context.Context) (evidence string, err error)
	// WithdrawRights takes the right to run scripts from the candidates' user;
	// RestoreRights gives it back.
	WithdrawRights(ctx context.Context) (evidence string, err error)
	RestoreRights(ctx context.Context) (evidence string, err error)
	// ChangePassword gives that side the next password of the candidates' user, and not
	// the other side. AlignPassword gives that side the password of the other one.
	ChangePassword(ctx context.Context, side PasswordSide) (evidence string, err error)
	AlignPassword(ctx context.Context, side PasswordSide) (evidence string, err error)
}

// Unattended is the Attendant of a world whose store has no connections, users or
// passwords of its own: nothing comes of what it is asked for.
type Unattended struct{}

var _ Attendant = Unattended{}

var errUnattended = NoEffect("the store of this world has no connections, users or passwords that could be changed")

// MoveStore implements Attendant.
func (Unattended) MoveStore(context.Context, Answer) (string, error) { return "", errUnattended }

// CloseConnections implements Attendant.
func (Unattended) CloseConnections(context.Context) (string, error) { return "", errUnattended }

// WithdrawRights implements Attendant.
func (Unattended) WithdrawRights(context.Context) (string, error) { return "", errUnattended }

// RestoreRights implements Attendant.
func (Unattended) RestoreRights(context.Context) (string, error) { return "", errUnattended }

// ChangePassword implements Attendant.
func (Unattended) ChangePassword(context.Context, PasswordSide) (string, error) {
	return "", errUnattended
}

// AlignPassword implements Attendant.
func (Unattended) AlignPassword(context.Context, PasswordSide) (string, error) {
	return "", errUnattended
}
