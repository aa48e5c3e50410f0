package check

import (
	"net/url"
	"path/filepath"

	"github.com/dynawire/dynawire/internal/cli/manifest"
	"github.com/dynawire/dynawire/pkg/validate"
)

// SARIF 2.1.0 (OASIS), as far as it is written here.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool       sarifTool     `json:"tool"`
		ColumnKind string        `json:"columnKind"`
		Results    []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		Version        string      `json:"version"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID               string             `json:"id"`
		ShortDescription sarifText          `json:"shortDescription"`
		Help             sarifText          `json:"help"`
		HelpURI          string             `json:"helpUri"`
		Default          sarifConfiguration `json:"defaultConfiguration"`
	}
	sarifText struct {
		Text     string `json:"text"`
		Markdown string `json:"markdown,omitempty"`
	}
	sarifConfiguration struct {
		Level string `json:"level"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		RuleIndex int             `json:"ruleIndex"`
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations"`
	}
	sarifLocation struct {
		Physical *sarifPhysical `json:"physicalLocation,omitempty"`
		Logical  []sarifLogical `json:"logicalLocations"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine int `json:"startLine"`
	}
	sarifLogical struct {
		Name string `json:"name"`
		Full string `json:"fullyQualifiedName"`
		Kind string `json:"kind"`
	}
)

func sarif(objects []Object, version string) *sarifLog {
	run := sarifRun{
		Tool:       sarifTool{sarifDriver{Name: "dynawire", Version: version, InformationURI: homepage}},
		ColumnKind: "utf16CodeUnits", Results: []sarifResult{},
	}
	index := map[string]int{}
	for i, r := range rules() {
		index[r.id] = i
		level := "error"
		if r.severity != validate.Deny {
			level = "warning"
		}
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{
			r.id, sarifText{Text: r.summary}, sarifText{r.help, r.help}, r.uri, sarifConfiguration{level},
		})
	}
	for i := range objects {
		o := &objects[i]
		for _, f := range o.Findings {
			run.Results = append(run.Results, sarifResult{
				f.Rule, index[f.Rule], levels[f.Outcome], sarifText{Text: o.Object + ": " + f.Field + ": " + f.Message},
				[]sarifLocation{o.location(&f)},
			})
		}
	}
	return &sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}}
}

var levels = map[string]string{Refused: "error", Warned: "warning", Admitted: "note"}

// location is the object and, where it comes from a file, the line.
func (o *Object) location(f *Finding) sarifLocation {
	name := o.Object + " " + f.Field
	if o.Namespace != "" {
		name = o.Namespace + "/" + name
	}
	l := sarifLocation{Logical: []sarifLogical{{f.Field, name, "member"}}}
	if o.File == "" || o.File == manifest.Stdin {
		return l
	}
	l.Physical = &sarifPhysical{Artifact: sarifArtifact{(&url.URL{Path: filepath.ToSlash(o.File)}).String()}}
	if f.Line > 0 {
		l.Physical.Region = &sarifRegion{f.Line}
	}
	return l
}
