// Package encode writes what the commands have to say for programs, alike in all of them.
package encode

import (
	"encoding/json"
	"fmt"
	"io"

	"sigs.k8s.io/yaml"
)

// JSON writes a value over several lines.
func JSON(w io.Writer, v any) error { return encode(w, v, "  ") }

// Line writes a value in one line of JSON, as one of a stream.
func Line(w io.Writer, v any) error { return encode(w, v, "") }

func encode(w io.Writer, v any, indent string) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false) // messages have < and >, and are read in terminals
	e.SetIndent("", indent)
	return e.Encode(v)
}

// YAML writes a value.
func YAML(w io.Writer, v any) error { return marshal(w, "", v) }

// Document writes a value as one of a stream of YAML.
func Document(w io.Writer, v any) error { return marshal(w, "---\n", v) }

func marshal(w io.Writer, before string, v any) error {
	data, err := yaml.Marshal(v)
	if err == nil {
		_, err = fmt.Fprintf(w, "%s%s", before, data)
	}
	return err
}
