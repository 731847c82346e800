// Package search looks for broken obligations in spaces of generated cases. A space
// says how a case is drawn from its number, how it runs, and what is simpler; package
// sim/bubble/calls, for example, is one. The package does the rest, once for all spaces:
// it chooses numbers by what was rare so far, judges, shrinks what fails, and keeps it
// in a file that repeats it.
//
// [Run] searches with worker processes, so a case that hangs, spins, takes all memory
// or panics costs one worker and is a finding. The program that calls Run must call
// [Main] first. [Test] runs cases in the process of a test.
package search
