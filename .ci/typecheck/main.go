// Typecheck checks the types of Go packages and of all that they import, for the
// system and the machine that GOOS and GOARCH name. It reads nothing but source:
// compiling for another system, or with other versions of modules, finds the same
// mistakes and takes six to ten times as long.
//
//	typecheck [-test] PACKAGE...
package main

import (
	"cmp"
	"flag"
	"log"
	"os"
	"runtime"

	"golang.org/x/tools/go/packages"
)

func main() {
	log.SetFlags(0)
	tests := flag.Bool("test", false, "check the packages' tests, too")
	flag.Parse()
	all, err := packages.Load(&packages.Config{Mode: packages.LoadAllSyntax, Tests: *tests}, flag.Args()...)
	if err != nil {
		log.Fatal("typecheck: ", err)
	}
	if len(all) == 0 || packages.PrintErrors(all) > 0 {
		os.Exit(1)
	}
	system := cmp.Or(os.Getenv("GOOS"), runtime.GOOS) + "/" + cmp.Or(os.Getenv("GOARCH"), runtime.GOARCH)
	log.Printf("%s: %d packages named, and what they import", system, len(all))
}
