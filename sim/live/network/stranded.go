package network

import (
	"bytes"
	"regexp"
	"runtime"
)

// Stranded is how many goroutines of this process's toxiproxy wait for ever: what a toxic
// held when its connection was closed is handed on to nobody. Nothing can reach them, nor
// end them. One is counted once it has waited for a minute. The world stops for some
// milliseconds.
func Stranded() int {
	stacks := make([]byte, 1<<20)
	for {
		n := runtime.Stack(stacks, true)
		if n < len(stacks) {
			return stranded(stacks[:n])
		}
		stacks = make([]byte, 2*len(stacks))
	}
}

// sending is the head of a goroutine that has tried to send for at least a minute, and
// the function in which it does.
var sending = regexp.MustCompile(`^goroutine \d+ \[chan send, \d+ minutes?\]:\ngithub\.com/Shopify/toxiproxy/v2/(toxics|stream)\.`)

func stranded(stacks []byte) (n int) {
	for one := range bytes.SplitSeq(stacks, []byte("\n\n")) {
		if sending.Match(one) {
			n++
		}
	}
	return n
}
