package check

import (
	"fmt"
	"io"
	"strings"

	"github.com/dynawire/dynawire/internal/cli/encode"
)

// Printer writes what was found.
type Printer struct {
	// Format is text, json, yaml, sarif or junit.
	Format string
	// Colour is for text on a terminal.
	Colour bool
	// FailOn is what fails a test case of JUnit.
	FailOn Level
	// Version is the program's.
	Version string
}

// Check refuses a format that is not known.
func (p *Printer) Check() error {
	switch p.Format {
	case "text", "json", "yaml", "sarif", "junit":
		return nil
	}
	return fmt.Errorf("output format %q is unknown: want text, json, yaml, sarif or junit", p.Format)
}

// Print writes the objects.
func (p *Printer) Print(w io.Writer, objects []Object) error {
	switch p.Format {
	case "json":
		return encode.JSON(w, objects)
	case "yaml":
		return encode.YAML(w, objects)
	case "sarif":
		return encode.JSON(w, sarif(objects, p.Version))
	case "junit":
		return junit(w, objects, p.FailOn)
	}
	return p.text(w, objects)
}

// text writes the objects of which there is something to say.
func (p *Printer) text(w io.Writer, objects []Object) error {
	var b strings.Builder
	for i := range objects {
		o := &objects[i]
		if len(o.Findings)+len(o.Warnings) == 0 {
			continue
		}
		b.WriteString(p.in(bold, o.title()) + "\n")
		for _, f := range o.Findings {
			b.WriteString("  " + p.outcome(f.Outcome) + " " + f.Rule)
			if f.Line > 0 {
				fmt.Fprintf(&b, " (line %d)", f.Line)
			}
			b.WriteString("\n    " + f.Field + ": " + f.Message + "\n")
		}
		for _, warning := range o.Warnings {
			b.WriteString("  " + p.in(yellow, "warning") + "\n    " + warning + "\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// title is where an object stands, and what it is.
func (o *Object) title() string {
	title := o.Object
	if o.Namespace != "" {
		title += " in " + o.Namespace
	}
	switch {
	case o.File != "" && o.Line > 0:
		return fmt.Sprintf("%s:%d: %s", o.File, o.Line, title)
	case o.File != "":
		return o.File + ": " + title
	}
	return title
}

const (
	bold   = "1"
	red    = "1;31"
	yellow = "33"
)

func (p *Printer) outcome(text string) string {
	if text == Refused {
		return p.in(red, text)
	}
	return p.in(yellow, text)
}

func (p *Printer) in(colour, text string) string {
	if !p.Colour {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// Summary is one line about all.
func Summary(objects []Object) string {
	var judged, refused, remarked, findings int
	for i := range objects {
		o := &objects[i]
		if o.Skipped == "" {
			judged++
		}
		switch {
		case o.failed(Deny):
			refused++
		case len(o.Findings) > 0:
			remarked++
		}
		findings += len(o.Findings)
	}
	return fmt.Sprintf("%s, %d judged: %d refused, %d with warnings, %s\n",
		count(len(objects), "object"), judged, refused, remarked, count(findings, "finding"))
}

func count(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
