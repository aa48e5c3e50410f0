package instances

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/dynawire/dynawire/internal/cli/encode"
	"github.com/dynawire/dynawire/pkg/runtime"
)

// Printer writes instances and events in one format.
type Printer struct {
	out    io.Writer
	format string
	began  bool
}

// NewPrinter knows the formats table ("" as well), wide, json and yaml.
func NewPrinter(out io.Writer, format string) (*Printer, error) {
	switch format {
	case "":
		format = "table"
	case "table", "wide", "json", "yaml":
	default:
		return nil, fmt.Errorf("output format %q is unknown: want wide, json or yaml", format)
	}
	return &Printer{out: out, format: format}, nil
}

// Entry is an instance as json and yaml have it.
type Entry struct {
	runtime.Instance
	endpoints []runtime.Endpoint
	// Number is the id under which Dynamo knows the instance, in hexadecimal.
	Number string
	// Models are the names of the models that it serves: of Dynamo's cards, and what a worker on the library calls its Model.
	Models []string
	// Metadata is the object that a worker on the library registered with.
	Metadata json.RawMessage
}

// MarshalJSON is the instance's own form with number, models and metadata.
func (e Entry) MarshalJSON() ([]byte, error) {
	own, err := json.Marshal(e.Instance)
	if err != nil {
		return nil, err
	}
	more, err := json.Marshal(struct {
		Number   string          `json:"number"`
		Models   []string        `json:"models,omitempty"`
		Metadata json.RawMessage `json:"metadata,omitempty"`
	}{e.Number, e.Models, e.Metadata})
	if err != nil {
		return nil, err
	}
	return append(append(own[:len(own)-1], ','), more[1:]...), nil
}

func entryOf(i runtime.Instance) Entry {
	e := Entry{Instance: i, endpoints: i.Endpoints(), Number: fmt.Sprintf("%x", i.ID.Number()), Metadata: i.Metadata.Values()}
	serves := func(name string) {
		if name != "" && !slices.Contains(e.Models, name) {
			e.Models = append(e.Models, name)
		}
	}
	for _, card := range i.Metadata.ModelCards() {
		var c struct {
			Name string `json:"display_name"`
		}
		if json.Unmarshal(card.Card, &c) == nil {
			serves(c.Name)
		}
	}
	var own struct {
		Model struct {
			Name string `json:"name"`
		}
	}
	if json.Unmarshal(e.Metadata, &own) == nil { // any object may be there; this is how docs/library.md has it
		serves(own.Model.Name)
	}
	return e
}

// List writes all instances.
func (p *Printer) List(all []runtime.Instance) error {
	entries := make([]Entry, len(all))
	for i := range all {
		entries[i] = entryOf(all[i])
	}
	switch p.format {
	case "json":
		return encode.JSON(p.out, entries)
	case "yaml":
		return encode.YAML(p.out, entries)
	}
	w := tabwriter.NewWriter(p.out, 0, 8, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, strings.Join(p.header(), "\t")) // Flush tells of errors
	for _, e := range entries {
		_, _ = fmt.Fprintln(w, strings.Join(p.row(e), "\t"))
	}
	return w.Flush()
}

// Event writes one event: a line, or a document of YAML.
func (p *Printer) Event(ev runtime.Event) error {
	e := entryOf(ev.Instance)
	at := ev.At.UTC().Format("15:04:05.000")
	body := struct {
		Type     runtime.EventType `json:"type"`
		At       string            `json:"at"`
		Instance Entry             `json:"instance"`
	}{ev.Type, ev.At.UTC().Format("2006-01-02T15:04:05.000000Z"), e}
	switch p.format {
	case "json":
		return encode.Line(p.out, body)
	case "yaml":
		return encode.Document(p.out, body)
	}
	// A stream has no widths to go by: what is before the last column is padded to what is usual.
	line := func(cells []string) error {
		var b strings.Builder
		for i, cell := range cells {
			if i == len(cells)-1 {
				b.WriteString(cell)
				break
			}
			fmt.Fprintf(&b, "%-*s  ", usual[min(i, len(usual)-1)], cell)
		}
		_, err := fmt.Fprintln(p.out, b.String())
		return err
	}
	if !p.began {
		p.began = true
		if err := line(append([]string{"TIME", "EVENT"}, p.header()...)); err != nil {
			return err
		}
	}
	return line(append([]string{at, string(ev.Type)}, p.row(e)...))
}

// usual are the widths of a stream's columns: time, event, component, pod, and any other.
var usual = []int{12, 8, 24, 40, 12}

func (p *Printer) header() []string {
	h := []string{"COMPONENT", "POD", "READY", "ENDPOINTS", "MODELS"}
	if p.format == "wide" {
		h = append(h, "NUMBER", "ADDRESSES", "NODE", "ZONE", "TRANSPORTS", "UID")
	}
	return h
}

func (p *Printer) row(e Entry) []string {
	ready := "no"
	switch {
	case e.Terminating:
		ready = "terminating"
	case e.Ready:
		ready = "yes"
	}
	names, transports := make([]string, len(e.endpoints)), make([]string, len(e.endpoints))
	for i, ep := range e.endpoints {
		names[i] = ep.Name
		transports[i] = ep.Transport.Kind + ":" + ep.Transport.Address
	}
	row := append(make([]string, 0, 11), e.Namespace+"/"+e.Component, e.ID.PodName, ready, orDash(names), orDash(e.Models))
	if p.format != "wide" {
		return row
	}
	addresses := make([]string, len(e.Addresses))
	for i, a := range e.Addresses {
		addresses[i] = a.String()
	}
	return append(row, e.Number, orDash(addresses), orDash(nonEmpty(e.Node)), orDash(nonEmpty(e.Zone)), orDash(transports), e.ID.UID)
}

func nonEmpty(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

func orDash(all []string) string {
	if len(all) == 0 {
		return "-"
	}
	return strings.Join(all, ",")
}
