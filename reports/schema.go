package reports

import "slices"

// Schema returns the JSON Schema of report.json, as this package writes it: draft
// 2020-12, indented, with a newline at its end. The package's tests generate it from
// Report, and fail if it differs. It allows no field that Report does not have; a later
// version of this package may add fields.
func Schema() []byte { return slices.Clone(schema) }
