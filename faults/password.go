package faults

import "context"

// PasswordSide is one of the two sides that must have the same password.
type PasswordSide string

// The sides.
const (
	PasswordServer PasswordSide = "server" // the server, which asks for it
	PasswordFile   PasswordSide = "file"   // the file that candidates read it from
)

// Other is the other side.
func (s PasswordSide) Other() PasswordSide {
	if s == PasswordServer {
		return PasswordFile
	}
	return PasswordServer
}

// PasswordChanged changes the password of the candidates' user: on one side at first, and
// on the other when it is healed. In between nobody can log in; connections that are open
// go on.
type PasswordChanged struct{ First PasswordSide }

// Name implements Fault.
func (c PasswordChanged) Name() string { return "password-" + string(c.First) + "-first" }

// Params implements Fault.
func (c PasswordChanged) Params() map[string]any { return map[string]any{"first": string(c.First)} }

func (c PasswordChanged) with(p *params) Fault {
	p.implied("first", string(c.First))
	return c
}

// Apply implements Fault.
func (c PasswordChanged) Apply(ctx context.Context, w World, _ []string) (string, error) {
	return w.ChangePassword(ctx, c.First)
}

// Heal implements Fault.
func (c PasswordChanged) Heal(ctx context.Context, w World, _ []string) (string, error) {
	return w.AlignPassword(ctx, c.First.Other())
}

// Effect implements Fault.
func (c PasswordChanged) Effect() Effect {
	e := Effect{
		Summary: "the store's password changes on the server, and later in the file that candidates read",
		Undone:  "the file gets the new password, too", Store: true, Attended: true, User: true, Password: true,
	}
	if c.First == PasswordFile {
		e.Summary = "the store's password changes in the file that candidates read, and later on the server"
		e.Undone = "the server gets the new password, too"
	}
	return e
}
