package appset

// The tests outside of the package read their input and judge issues as those inside do.
var (
	YAMLOf       = yamlOf
	WithUnknowns = withUnknowns
	WantIssue    = wantIssue
)
