// Package mutants makes and hunts mutants: changes of a few words of the source that
// ships, each of which makes it wrong. A harness that does not find them finds
// nothing of the kind. Nothing of a mutant is ever in the product: the go command
// compiles the changed file in place of the real one (go build -overlay), and the
// binaries so made are hunted through every world.
//
// A mutant is a file, catalogue/KIND/NAME.txt: some headers, and then, for each
// change, the text as it is in a file of the source and the text that stands in its
// place.
//
//	What: acquire keeps the candidate that the lease is handed over to out, and nobody else
//	Breaks: hand-over, words
//	-- elector/redisstore/scripts/acquire.lua --
//	if g[3] and g[3] ~= id and rest > 0
//	-- becomes --
//	if g[3] and g[3] == id and rest > 0
//
// docs/mutants.md has the table of what was found.
package mutants
