package check

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

// JUnit's XML, as its readers agree on it: a suite, a test case for each object.
type (
	junitSuites struct {
		XMLName  xml.Name   `xml:"testsuites"`
		Name     string     `xml:"name,attr"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Skipped  int        `xml:"skipped,attr"`
		Suite    junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		// Class is the file or the namespace.
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		File    string        `xml:"file,attr,omitempty"`
		Line    int           `xml:"line,attr,omitempty"`
		Failure *junitFailure `xml:"failure"`
		Skipped *junitSkipped `xml:"skipped"`
		Output  string        `xml:"system-out,omitempty"`
	}
	junitFailure struct {
		// Message is the ids of the rules.
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
	junitSkipped struct {
		Message string `xml:"message,attr"`
	}
)

// junit writes what fails as the failure of its test case, and the other findings as its output.
func junit(w io.Writer, objects []Object, failOn Level) error {
	suite := junitSuite{Name: "dynawire", Tests: len(objects)}
	for i := range objects {
		c := testCase(&objects[i], failOn)
		if c.Failure != nil {
			suite.Failures++
		}
		if c.Skipped != nil {
			suite.Skipped++
		}
		suite.Cases = append(suite.Cases, c)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	all := junitSuites{Name: suite.Name, Tests: suite.Tests, Failures: suite.Failures, Skipped: suite.Skipped, Suite: suite}
	if err := e.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func testCase(o *Object, failOn Level) junitCase {
	c := junitCase{Class: o.File, Name: o.Object, File: o.File, Line: o.Line}
	if o.Namespace != "" {
		c.Name = o.Namespace + "/" + o.Object
	}
	if c.Class == "" {
		c.Class = o.Namespace
	}
	if o.Skipped != "" {
		c.Skipped = &junitSkipped{o.Skipped}
		return c
	}
	var ids []string
	var failure, output strings.Builder
	for i := range o.Findings {
		f := &o.Findings[i]
		line := fmt.Sprintf("%s: %s: %s [%s]\n", f.Outcome, f.Field, f.Message, f.Rule)
		if !failOn.Counts(f) {
			output.WriteString(line)
			continue
		}
		ids = append(ids, f.Rule)
		failure.WriteString(line)
	}
	for _, warning := range o.Warnings {
		output.WriteString("warning: " + warning + "\n")
	}
	if len(ids) > 0 {
		c.Failure = &junitFailure{strings.Join(ids, ", "), failure.String()}
	}
	c.Output = output.String()
	return c
}
