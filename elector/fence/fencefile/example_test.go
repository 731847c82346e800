package fencefile_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/recount-io/recount/elector/fence/fencefile"
)

// A log that several machines append to.
func ExampleFile_Append() {
	folder, err := os.MkdirTemp("", "log")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(folder) }()
	ctx, log := context.Background(), fencefile.File{Path: filepath.Join(folder, "log")}
	fmt.Println(log.Append(ctx, 34, []byte("by the second leader")))
	fmt.Println(log.Append(ctx, 33, []byte("by the first leader")))
	for line, err := range log.Lines() {
		fmt.Println(line.Token, string(line.Data), err)
	}
	// Output:
	// <nil>
	// fence: token 33 is stale: the resource has seen token 34, so somebody else leads since; stop working on this term
	// 34 by the second leader <nil>
}

// A file that is replaced as a whole: readers never see half of it, nor a
// former leader's.
func ExampleFile_Replace() {
	folder, err := os.MkdirTemp("", "file")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(folder) }()
	ctx, file := context.Background(), fencefile.File{Path: filepath.Join(folder, "routes.json")}
	fmt.Println(file.Replace(ctx, 34, []byte("second leader's")))
	fmt.Println(file.Replace(ctx, 33, []byte("first leader's")))
	content, err := os.ReadFile(file.Path)
	fmt.Println(string(content), err)
	// Output:
	// <nil>
	// fence: token 33 is stale: the resource has seen token 34, so somebody else leads since; stop working on this term
	// second leader's <nil>
}
