package audit

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/dynawire/dynawire/internal/cli/encode"
)

// Printer writes findings. Its zero value writes a plain table of one namespace's.
type Printer struct {
	// Format is "", wide, json or yaml.
	Format string
	// Namespaces adds the column NAMESPACE.
	Namespaces bool
	// Colour is for a terminal.
	Colour bool
	// Now is the time from which ages count.
	Now func() time.Time

	// Streaming is for findings that come one after the other: the table's head is written once, with columns of fixed
	// width, and JSON and YAML are a document for each finding.
	Streaming bool
	begun     bool
}

// Check refuses a format that is not known.
func (p *Printer) Check() error {
	switch p.Format {
	case "", "wide", "json", "yaml":
		return nil
	}
	return fmt.Errorf("output format %q is unknown: want wide, json or yaml", p.Format)
}

// Table reports whether it writes lines for people.
func (p *Printer) Table() bool { return p.Format == "" || p.Format == "wide" }

// Print writes findings.
func (p *Printer) Print(w io.Writer, findings []Finding) error {
	var out bytes.Buffer
	switch {
	case p.Format == "json" && p.Streaming:
		for i := range findings {
			if err := encode.Line(&out, findings[i]); err != nil {
				return err
			}
		}
	case p.Format == "json":
		if err := encode.JSON(&out, findings); err != nil {
			return err
		}
	case p.Format == "yaml" && p.Streaming:
		for i := range findings {
			if err := encode.Document(&out, findings[i]); err != nil {
				return err
			}
		}
	case p.Format == "yaml":
		if err := encode.YAML(&out, findings); err != nil {
			return err
		}
	default:
		p.table(&out, findings)
	}
	_, err := w.Write(out.Bytes())
	return err
}

// column of the table. Its width is for streaming, where later rows are not known yet.
type column struct {
	name  string
	width int
	text  func(*Finding) string
}

func (p *Printer) columns() []column {
	cs := []column{{"LAST SEEN", 9, func(f *Finding) string { return duration.HumanDuration(p.Now().Sub(f.LastSeen)) }}}
	if p.Namespaces {
		cs = append(cs, column{"NAMESPACE", 15, func(f *Finding) string { return printable(f.Namespace) }})
	}
	cs = append(
		cs,
		column{"OBJECT", 35, func(f *Finding) string { return printable(f.Object) }},
		column{"RULE", 27, func(f *Finding) string { return printable(f.Rule) }},
		column{"OUTCOME", 8, func(f *Finding) string { return printable(f.Outcome) }},
		column{"COUNT", 5, func(f *Finding) string { return strconv.FormatInt(f.Count, 10) }},
	)
	if p.Format == "wide" {
		cs = append(
			cs,
			column{"USER", 30, func(f *Finding) string { return printable(f.User) }},
			column{"FIELD", 30, func(f *Finding) string { return printable(f.Field) }},
			column{"MESSAGE", 0, func(f *Finding) string { return printable(f.Message) }},
		)
	}
	return cs
}

// printable is a text that does nothing to a terminal: messages quote what pods say.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if strconv.IsPrint(r) {
			return r
		}
		return '·'
	}, s)
}

func (p *Printer) table(out *bytes.Buffer, findings []Finding) {
	columns := p.columns()
	rows := make([][]string, len(findings))
	widths := make([]int, len(columns))
	for i, c := range columns {
		widths[i] = len(c.name)
		if p.Streaming {
			widths[i] = c.width
		}
	}
	for i := range findings {
		rows[i] = make([]string, len(columns))
		for j, c := range columns {
			rows[i][j] = c.text(&findings[i])
			if !p.Streaming {
				widths[j] = max(widths[j], utf8.RuneCountInString(rows[i][j]))
			}
		}
	}
	if !p.begun {
		p.begun = true
		head := make([]string, len(columns))
		for i, c := range columns {
			head[i] = c.name
		}
		p.row(out, head, widths, "")
	}
	for i, row := range rows {
		p.row(out, row, widths, colours[findings[i].Outcome])
	}
}

// colours of outcomes: red and yellow.
var colours = map[string]string{"refused": "\x1b[31m", running: "\x1b[31m", "warned": "\x1b[33m"}

func (p *Printer) row(out *bytes.Buffer, cells []string, widths []int, colour string) {
	if p.Colour {
		out.WriteString(colour)
	}
	var line strings.Builder
	for i, cell := range cells {
		line.WriteString(cell)
		if i < len(cells)-1 {
			line.WriteString(strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(cell))+3))
		}
	}
	out.WriteString(line.String())
	if p.Colour && colour != "" {
		out.WriteString("\x1b[0m")
	}
	out.WriteByte('\n')
}
