package source

// durableBugs are in the guards that outlive their process: of files and of databases.
func durableBugs() []Bug {
	const file, sql = "elector/fence/fencefile/file.go", "elector/fence/sql.go"
	return []Bug{
		{
			Name: "renamed-unsynced", Kind: Durable, Breaks: []string{"whole", "kept"},
			What: "a new file is renamed before it is on the disk: a machine that crashes leaves a torn one",
			File: file, Old: "chmod(file, mode), file.Sync(), file.Close())", New: "chmod(file, mode), file.Close())",
		}, {
			Name: "fence-of-another-is-durable", Kind: Durable, Breaks: []string{"in order"},
			What: "a fence that somebody else has raised, who died just then, is taken to be on the disk",
			File: file, Old: "\t\tif err := f.syncFolder(filepath.Dir(f.Path)); err != nil {\n\t\t\treturn fmt.Errorf(\"fencefile: it is not certain", New: "\t\tif err := error(nil); err != nil {\n\t\t\treturn fmt.Errorf(\"fence: it is not certain",
		}, {
			Name: "missing-is-none", Kind: Durable, Breaks: []string{"in order", "highest"},
			What: "a fence that is not found counts as none, also while its folder is gone for a moment",
			File: file, Old: "\t\tthere, err := f.isAt(lock, f.Path+\".lock\")\n", New: "\t\tthere, err := true, error(nil)\n",
		}, {
			Name: "last-line-alone", Kind: Durable, Breaks: []string{"in order", "highest"},
			What: "a log knows the token of its last line, and not a larger one that was made known since",
			File: file, Old: "s = state{max(s.token, last.line.Token), logKind}", New: "s = state{last.line.Token, logKind}",
		}, {
			Name: "written-then-checked", Kind: Durable, Breaks: []string{"walk"},
			What: "a transaction writes before its token is looked at",
			File: sql,
			Old:  "\tif err := s.Check(ctx, tx, token, resource); err != nil {\n\t\treturn err\n\t}\n\tif err := write(tx); err != nil {\n\t\treturn err\n\t}\n",
			New:  "\tif err := write(tx); err != nil {\n\t\treturn err\n\t}\n\tif err := s.Check(ctx, tx, token, resource); err != nil {\n\t\treturn err\n\t}\n",
		},
	}
}
