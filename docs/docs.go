// Package docs has those documents that programs show.
package docs

import _ "embed"

// Rules is rules.md: a section for every rule, "### " and its id.
//
//go:embed rules.md
var Rules string
