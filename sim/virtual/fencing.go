package virtual

// fencing decides what the protected resource takes: it remembers the largest token
// that it has taken and refuses smaller ones. A token of 0 is none. Its zero value has
// taken nothing.
type fencing struct {
	highest uint64
	value   string // of the last write that was taken
	token   uint64 // of that write
}

// write reports whether a write is taken, and the largest token that is known of.
func (f *fencing) write(token uint64, value string) (taken bool, highest uint64) {
	if token != 0 && token < f.highest {
		return false, f.highest
	}
	f.take(token, value)
	return true, f.highest
}

// take takes a write, whatever its token.
func (f *fencing) take(token uint64, value string) {
	f.highest, f.value, f.token = max(f.highest, token), value, token
}

// read is the value that was written last, and the token that it came with.
func (f *fencing) read() (value string, token uint64) { return f.value, f.token }
