package main

import (
	"bytes"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"

	"github.com/dynawire/dynawire/internal/cli/diff"
	"github.com/dynawire/dynawire/internal/cli/edit"
	"github.com/dynawire/dynawire/internal/cli/manifest"
)

// writer is the function that writes a format.
func writer(format string) (func(io.Writer, []transformed) error, error) {
	switch format {
	case "":
		return writeAsRead, nil
	case "yaml":
		return writeYAML, nil
	case "json":
		return writeJSON, nil
	case "diff":
		return writeDiff, nil
	}
	return nil, fmt.Errorf("output format %q is unknown: want yaml, json or diff", format)
}

// stream writes documents one after the other, with "---" where one begins without.
type stream struct {
	w      io.Writer
	begun  bool
	broken bool // the text so far does not end with a line break
	err    error
}

func (s *stream) write(text []byte, separate bool) {
	if s.err != nil || len(text) == 0 {
		return
	}
	var b []byte
	if s.begun && separate {
		if s.broken {
			b = append(b, '\n')
		}
		if !bytes.HasPrefix(text, []byte("---")) {
			b = append(b, "---\n"...)
		}
	}
	s.begun, s.broken = true, text[len(text)-1] != '\n'
	_, s.err = s.w.Write(append(b, text...))
}

// writeAsRead writes each document in the format that it has.
func writeAsRead(w io.Writer, all []transformed) error {
	s := stream{w: w}
	for i := range all {
		for j, r := range all[i].results {
			s.write(r.Text, j == 0)
		}
	}
	return s.err
}

// writeYAML writes YAML as it is, and JSON as YAML.
func writeYAML(w io.Writer, all []transformed) error {
	s := stream{w: w}
	for i := range all {
		for j, r := range all[i].results {
			d := &all[i].Documents[j]
			if !d.JSON {
				s.write(r.Text, j == 0)
				continue
			}
			text, err := edit.Encode(d, r.Root)
			if err != nil {
				return d.Errorf(nil, "", "%w", err)
			}
			s.write(text, true)
		}
	}
	return s.err
}

// writeJSON writes one object as it is, and several as a List.
func writeJSON(w io.Writer, all []transformed) error {
	var items []*yaml.Node
	for i := range all {
		for _, r := range all[i].results {
			if r.Root != nil {
				items = append(items, r.Root.Content[0])
			}
		}
	}
	object, err := manifest.FromJSON([]byte(`{"apiVersion":"v1","kind":"List","items":[]}`))
	if err != nil {
		return err
	}
	manifest.Get(object, "items").Content = items
	if len(items) == 1 {
		object = items[0]
	}
	text, err := manifest.ToJSON(object, "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(text, '\n'))
	return err
}

// writeDiff writes a unified diff for each file that is changed.
func writeDiff(w io.Writer, all []transformed) error {
	for i := range all {
		var before, after []byte
		for j, r := range all[i].results {
			before = append(before, all[i].Documents[j].Text...)
			after = append(after, r.Text...)
		}
		if _, err := io.WriteString(w, diff.Unified(all[i].Name, string(before), string(after))); err != nil {
			return fmt.Errorf("write the diff of %s: %w", all[i].Name, err)
		}
	}
	return nil
}
