package wire

// script is one that was seen.
type script struct{ text string }

// result is what an execution of a script answers.
type result struct{ value Value }

// fits tells whether the reply can be the result.
func (r result) fits(Value) bool { return true }

func isScript(name string) bool {
	switch name {
	case "EVAL", "EVALSHA", "EVAL_RO", "EVALSHA_RO", "FCALL", "FCALL_RO":
		return true
	default:
		return false
	}
}

// scriptTraces are the executions that the script may turn out to be.
func (c *Conn) scriptTraces(command) ([]trace, bool) { return nil, true }
