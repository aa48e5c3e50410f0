// Package manifest reads files of Kubernetes objects, YAML or JSON, without losing how they were written: each document
// keeps its text beside its tree.
package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Document is one document of a file.
type Document struct {
	// File is the name that the user gave; Number counts the file's documents from 1, those without content left out.
	File   string
	Number int
	// Line is where Text begins in the file, from 1.
	Line int
	// Text is the document as it was written, its "---" included. The texts of a file's documents are the whole file.
	Text []byte
	// JSON tells that the document is JSON, and not only YAML that looks like it.
	JSON bool
	// Root is the object, in a document node; nil where there is nothing but comments.
	Root *yaml.Node
	// Aliases tells that the document has aliases.
	Aliases bool
}

// Error is about a place in a file.
type Error struct {
	File     string
	Document int
	// Line is 0 where it is not known.
	Line int
	// Object is "Kind/name", empty where it is not known.
	Object string
	Err    error
}

// Error names the file, the document, the line and the object.
func (e *Error) Error() string {
	text := e.File
	if e.Document > 0 {
		text += fmt.Sprintf(": document %d", e.Document)
	}
	if e.Line > 0 {
		text += fmt.Sprintf(", line %d", e.Line)
	}
	if e.Object != "" {
		text += ": " + e.Object
	}
	return text + ": " + e.Err.Error()
}

// Unwrap is what is wrong there.
func (e *Error) Unwrap() error { return e.Err }

// Errorf is an error about a node of the document, or about the whole of it where n is nil. A NodeError among args knows
// its place better.
func (d *Document) Errorf(n *yaml.Node, object, format string, args ...any) error {
	e := &Error{File: d.File, Document: d.Number, Object: object, Err: fmt.Errorf(format, args...)}
	if inner, ok := errors.AsType[*NodeError](e.Err); ok {
		n = inner.Node
	}
	e.Line = d.LineOf(n)
	return e
}

// LineOf is the line of a node in the file; 0 where it is not known.
func (d *Document) LineOf(n *yaml.Node) int {
	switch {
	case n == nil || n.Line == 0 && n.Alias == nil:
		return 0
	case n.Line == 0:
		return d.LineOf(n.Alias) // see Expand
	}
	return d.Line + n.Line - 1
}

// Parse reads the documents of a file. What it does not take, it says where.
func Parse(file string, data []byte) ([]Document, error) {
	if at := badByte(data); at >= 0 {
		return nil, &Error{File: file, Document: 1, Line: lineOf(data, at), Err: errors.New("this is no text: not UTF-8, or a control character")}
	}
	if documents, ok, err := parseJSON(file, data); ok {
		return documents, err
	}
	var documents []Document
	number := 0
	for _, piece := range split(data) {
		d := Document{File: file, Number: number + 1, Line: lineOf(data, piece.from), Text: data[piece.from:piece.to]}
		if err := d.parse(); err != nil {
			return nil, err
		}
		if d.Root != nil {
			number++
		}
		documents = append(documents, d)
	}
	return documents, nil
}

// Object is the root mapping.
func (d *Document) Object() *yaml.Node { return d.Root.Content[0] }

// badByte is where data is no text; -1 where it is.
func badByte(data []byte) int {
	for i, c := range data {
		if c < ' ' && c != '\n' && c != '\r' && c != '\t' {
			return i
		}
	}
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size <= 1 {
			return i
		}
		i += size
	}
	return -1
}

func lineOf(data []byte, at int) int { return 1 + bytes.Count(data[:at], []byte{'\n'}) }
